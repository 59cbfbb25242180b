// Bytes and Array of dataset.h.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/round_up.h"
#include "data/dataset.h"

namespace mirrortrain::data {
namespace {

std::vector<std::int64_t> without_ones(const Shape& shape) {
  std::vector<std::int64_t> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims), [](std::int64_t dim) { return dim != 1; });
  return dims;
}

std::string row_text_in(const std::string& origin, std::int64_t first_line, std::int64_t row) {
  if (first_line > 0) return fmt::format("{}:{}: row {} (counting from 0)", origin, first_line + row, row);
  return fmt::format("{}: row {} (counting from 0)", origin, row);
}

// Reading more than this would end with the system killing the process.
std::size_t physical_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

// Rows are read in random order: with large pages, if available, translating a row's address needs no memory access.
Bytes::Bytes(std::size_t size, const std::string& what) : size_(size) {
  constexpr std::size_t kLine = 64, kLargePage = std::size_t{1} << 21;
  const std::size_t alignment = size < kLargePage ? kLine : kLargePage;
  const std::size_t rounded = round_up(size, alignment);
  if (rounded <= physical_memory()) {
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, std::max(rounded, alignment))), std::free);
  }
  if (!data_) {
    throw Error(fmt::format("{}: not enough memory for its {} bytes; use a smaller file or a machine with more memory",
                            what, size));
  }
  if (alignment == kLargePage) ::madvise(data_.get(), rounded, MADV_HUGEPAGE);
}

Bytes Bytes::shared() const {
  Bytes same;
  same.data_ = data_;
  same.size_ = size_;
  return same;
}

Array::Array(DType type, Shape extents, std::string name)
    : dtype(type),
      shape(std::move(extents)),
      bytes(checked_bytes(shape, size_of(type), name), name),
      origin(std::move(name)) {}

Array Array::without_elements() const {
  Array same;
  same.dtype = dtype;
  same.shape = shape;
  same.origin = origin;
  same.first_line = first_line;
  same.parts = parts;
  same.tokens = tokens;
  same.remarks = remarks;
  return same;
}

Array Array::shared() const {
  Array same = without_elements();
  same.bytes = bytes.shared();
  same.stored = stored;
  same.picked = picked;
  return same;
}

Array Array::read_by(std::shared_ptr<const StoredRows> rows, DType type, const Shape& row_shape) const {
  Array made = without_elements();
  made.dtype = type;
  made.shape = row_shape.with_rows(this->rows());
  made.picked = picked;
  made.tokens = 0;
  made.stored = std::move(rows);
  return made;
}

const std::byte* Array::rows_at(std::int64_t first, std::int64_t count, std::vector<std::byte>& scratch) const {
  const std::size_t of_row = row_bytes();
  if (!is_by_position()) return this->bytes.data() + static_cast<std::size_t>(first) * of_row;
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(count) * of_row));
  stored->read(first, count, scratch.data());
  return scratch.data();
}

void Array::refuse_span() const {
  throw Error(fmt::format("{}: its rows are not in memory, where they were expected", origin));
}

Array Array::of_same_rows(DType type, const Shape& row_shape) const {
  Array made(type, row_shape.with_rows(rows()), origin);
  made.first_line = first_line;
  made.parts = parts;
  made.picked = picked;
  made.remarks = remarks;
  return made;
}

Shape Array::row_shape() const { return Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end())); }

std::string Array::row_text(std::int64_t row) const {
  row = row_in_files(row);
  if (!parts.empty()) {
    const auto part = std::find_if(parts.rbegin(), parts.rend(), [&](const Part& one) { return one.first_row <= row; });
    return row_text_in(part->origin, part->first_line, row - part->first_row);
  }
  return row_text_in(origin, first_line, row);
}

std::size_t checked_bytes(const Shape& shape, std::size_t element_bytes, const std::string& what) {
  constexpr std::size_t kMost = std::size_t{1} << 62;
  std::size_t bytes = element_bytes;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw Error(fmt::format("{}: the shape {} has a negative extent", what, shape.text()));
    if (dim == 0) empty = true;
    if (dim > 0 && bytes > kMost / static_cast<std::size_t>(dim)) {
      throw Error(fmt::format("{}: the shape {} is larger than any memory; the file is damaged or of another format",
                              what, shape.text()));
    }
    if (dim > 0) bytes *= static_cast<std::size_t>(dim);
  }
  return empty ? 0 : bytes;
}

Array narrowed(Array array) {
  const auto wide = array.span<double>();
  const bool fits = std::ranges::all_of(
      wide, [](double value) { return static_cast<double>(static_cast<float>(value)) == value || std::isnan(value); });
  if (!fits) return array;
  Array narrow(DType::kFloat32, array.shape, array.origin);
  std::ranges::transform(wide, narrow.span<float>().begin(), [](double value) { return static_cast<float>(value); });
  narrow.first_line = array.first_line;
  narrow.parts = std::move(array.parts);
  narrow.picked = std::move(array.picked);
  narrow.remarks = std::move(array.remarks);
  return narrow;
}

bool same_but_ones(const Shape& a, const Shape& b) { return without_ones(a) == without_ones(b); }

}  // namespace mirrortrain::data
