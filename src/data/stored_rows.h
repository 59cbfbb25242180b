#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mirrortrain::data {

class UnpackedFiles;

/// The rows of an array that is not in memory: any of them is read by its number. All of a type and a shape, which the
/// array says. Every method is thread-safe, and throws Error, naming the file, for one that cannot be read, or that has
/// changed since it was opened.
class StoredRows {
 public:
  virtual ~StoredRows() = default;
  virtual std::int64_t rows() const = 0;
  /// Writes `count` rows from `first` on, as an array in memory holds them.
  virtual void read(std::int64_t first, std::int64_t count, std::byte* to) const = 0;
  /// Has the system fetch the bytes of these rows from their disk, while this thread goes on, so that `read` finds them
  /// in memory. Throws nothing: `read` reports what is wrong. By default it does nothing.
  virtual void will_read(std::int64_t first, std::int64_t count) const {
    static_cast<void>(first), static_cast<void>(count);
  }
  /// Writes all rows, from the first to the last: also those of which `read` is not possible yet.
  virtual void read_all(std::byte* to) const { read(0, rows(), to); }
  /// Changes if any of the files, or the processing, changes. Empty where nothing may be kept of what was found in
  /// them.
  virtual std::string identity() const = 0;
  /// Whether all numbers are known to be finite, and of the range of float32.
  virtual bool are_finite() const { return false; }
  /// The same rows once any of them can be read by itself, for which compressed files are unpacked into `cache`; null
  /// where these are so already.
  virtual std::shared_ptr<const StoredRows> by_position(const UnpackedFiles& cache) const = 0;
};

/// Some of another's rows, in this order.
std::shared_ptr<const StoredRows> picked_rows(std::shared_ptr<const StoredRows> from, std::vector<std::int64_t> rows,
                                              std::size_t row_bytes);

/// The rows of several, one after the other.
std::shared_ptr<const StoredRows> joined_rows(std::vector<std::shared_ptr<const StoredRows>> parts,
                                              std::size_t row_bytes);

}  // namespace mirrortrain::data
