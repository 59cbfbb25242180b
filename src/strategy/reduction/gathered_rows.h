#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collective/communicator.h"
#include "device/device.h"

namespace mirrortrain {

/// Rows of `count` numbers, float32 or float64, one from each place or memory domain of the run, in one domain's
/// memory. The domain writes its own rows and gathers the others', so that sums in the rows' order have the same bits
/// for any lanes and workers.
class GatheredRows {
 public:
  /// `rows`: per domain, the same everywhere: rows that a domain does not write stay 0. `others`: the domain's rank;
  /// null if there is only one. `name`: of the numbers, for errors. Device and communicator must outlive it.
  GatheredRows(Device& device, Communicator* others, int rows, DType dtype, std::int64_t count, std::string name)
      : others_(others),
        dtype_(dtype),
        count_(count),
        first_(others == nullptr ? 0 : static_cast<std::int64_t>(others->rank()) * rows),
        rows_(others == nullptr ? rows : static_cast<std::int64_t>(others->size()) * rows),
        table_(device.allocate(bytes_of(rows_ * stride()))),
        name_(std::move(name)) {}

  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  /// Distance between rows, in numbers.
  std::int64_t stride() const { return whole_shards(count_); }
  /// Number of rows of the whole run.
  std::int64_t rows() const { return rows_; }
  std::byte* row(std::int64_t row) const { return table_.data() + bytes_of(row * stride()); }
  template <class T>
  T* row(std::int64_t row) const {
    return reinterpret_cast<T*>(this->row(row));
  }
  /// The number of a row of this domain, given its number within it.
  std::int64_t own(int row) const { return first_ + row; }

  /// Fetches the other domains' rows, once those of this one are written.
  void gather(Stream& stream) const { gather(stream, name_); }
  /// The same of numbers with another name, which outlives this.
  void gather(Stream& stream, std::string_view name) const {
    if (others_ == nullptr) return;
    Elements elements;
    elements.dtype = dtype_;
    elements.data = table_.data();
    elements.count = static_cast<std::size_t>(rows_ * stride());
    elements.what = name;
    others_->all_gather(stream, elements);
  }

  std::size_t bytes() const { return table_.bytes(); }

 private:
  std::size_t bytes_of(std::int64_t numbers) const { return static_cast<std::size_t>(numbers) * size_of(dtype_); }

  Communicator* others_;
  DType dtype_;
  std::int64_t count_, first_, rows_;
  Buffer table_;
  std::string name_;
};

}  // namespace mirrortrain
