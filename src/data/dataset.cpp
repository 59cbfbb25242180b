#include "data/dataset.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "data/fields.h"
#include "data/kept_findings.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

std::vector<std::int64_t> without_ones(const Shape& shape) {
  std::vector<std::int64_t> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims), [](std::int64_t dim) { return dim != 1; });
  return dims;
}

// Block by block: the loop over a block has no early exit, so that it is vectorized.
template <class T>
std::int64_t first_unfit(std::span<const T> elements) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < elements.size(); begin += kBlock) {
    const auto block = elements.subspan(begin, std::min(kBlock, elements.size() - begin));
    int unfit = 0;
    for (const T value : block) unfit += !fits_float(value);
    if (unfit == 0) continue;
    const auto found = std::find_if_not(block.begin(), block.end(), fits_float<T>);
    return static_cast<std::int64_t>(begin) + (found - block.begin());
  }
  return -1;
}

std::string row_text_in(const std::string& origin, std::int64_t first_line, std::int64_t row) {
  if (first_line > 0) return fmt::format("{}:{}: row {} (counting from 0)", origin, first_line + row, row);
  return fmt::format("{}: row {} (counting from 0)", origin, row);
}

/// All of an array but its elements and the numbers of its rows.
Array described_as(const Array& from) {
  Array same;
  same.dtype = from.dtype;
  same.shape = from.shape;
  same.origin = from.origin;
  same.first_line = from.first_line;
  same.parts = from.parts;
  same.tokens = from.tokens;
  same.remarks = from.remarks;
  return same;
}

/// Rows of an array that is read by position.
Array picked_by_position(const Array& from, std::vector<std::int64_t> rows) {
  Array to = described_as(from);
  to.shape[0] = std::ssize(rows);
  to.picked.reserve(rows.size());
  for (const std::int64_t row : rows) to.picked.push_back(from.row_in_files(row));
  to.stored = picked_rows(from.stored, std::move(rows), from.row_bytes());
  return to;
}

Array picked_from(const Array& from, std::int64_t first_row, const std::vector<std::int64_t>& rows) {
  if (from.is_by_position()) {
    std::vector<std::int64_t> of_array = rows;
    for (std::int64_t& row : of_array) row += first_row;
    return picked_by_position(from, std::move(of_array));
  }
  Array to = described_as(from);
  to.shape[0] = std::ssize(rows);
  const std::size_t bytes = from.row_bytes();
  to.bytes = Bytes(rows.size() * bytes, from.origin);
  std::byte* at = to.bytes.data();
  for (const std::int64_t row : rows) {
    const auto source = static_cast<std::size_t>(first_row + row);
    if (bytes > 0) std::memcpy(at, from.bytes.data() + source * bytes, bytes);
    at += bytes;
    to.picked.push_back(from.row_in_files(first_row + row));
  }
  return to;
}

class PickedRows : public ExampleSource {
 public:
  PickedRows(std::shared_ptr<const ExampleSource> from, std::vector<std::int64_t> rows)
      : from_(std::move(from)), rows_(std::move(rows)) {}
  void read(std::int64_t row, std::span<float> to) const override {
    from_->read(rows_[static_cast<std::size_t>(row)], to);
  }
  bool read_window(std::int64_t row, const PictureWindow& window, std::span<float> to) const override {
    return from_->read_window(rows_[static_cast<std::size_t>(row)], window, to);
  }
  std::uint64_t stored_bytes(std::int64_t row) const override {
    return from_->stored_bytes(rows_[static_cast<std::size_t>(row)]);
  }
  std::uint32_t checksum(std::int64_t row) const override {
    return from_->checksum(rows_[static_cast<std::size_t>(row)]);
  }
  std::string row_text(std::int64_t row) const override {
    return from_->row_text(rows_[static_cast<std::size_t>(row)]);
  }
  std::optional<std::string> fault(std::int64_t row) const override {
    return from_->fault(rows_[static_cast<std::size_t>(row)]);
  }
  std::string identity() const override {
    return fmt::format("{} {:08x}", from_->identity(), crc32_of(std::as_bytes(std::span(rows_))));
  }

 private:
  std::shared_ptr<const ExampleSource> from_;
  std::vector<std::int64_t> rows_;
};

// Reading more than this would end with the system killing the process.
std::size_t physical_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

// Rows are read in random order: with large pages, if available, translating a row's address needs no memory access.
Bytes::Bytes(std::size_t size, const std::string& what) : size_(size) {
  constexpr std::size_t kLine = 64, kLargePage = std::size_t{1} << 21;
  const std::size_t alignment = size < kLargePage ? kLine : kLargePage;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
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

Array Array::shared() const {
  Array same = described_as(*this);
  same.bytes = bytes.shared();
  same.stored = stored;
  same.picked = picked;
  return same;
}

Array Array::read_by(std::shared_ptr<const StoredRows> rows, DType type, const Shape& row_shape) const {
  Array made = described_as(*this);
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

namespace {

/// The first row that first_unfit(rows) finds in blocks of rows that are not in memory, read by several threads; -1:
/// none.
template <class FirstUnfit>
std::int64_t first_unfit_block(const Array& array, std::int64_t from, const FirstUnfit& unfit) {
  const std::int64_t together = rows_of_block(array), rows = array.rows();
  std::atomic<std::int64_t> next = from, found = rows;
  std::mutex mutex;
  std::pair<std::int64_t, std::exception_ptr> failure{rows, nullptr};  // the first block's
  const auto work = [&] {
    std::vector<std::byte> scratch;
    for (std::int64_t first = next.fetch_add(together); first < found; first = next.fetch_add(together)) {
      try {
        const std::int64_t count = std::min(together, rows - first);
        const std::int64_t in_block = unfit(array.rows_at(first, count, scratch), count);
        if (in_block < 0) continue;
        const std::lock_guard lock(mutex);
        found = std::min(found.load(), first + in_block);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (first < failure.first) failure = {first, std::current_exception()};
        found = std::min(found.load(), first);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::int64_t blocks = (rows - from + together - 1) / together;
    const auto threads = std::min<std::int64_t>(blocks, std::thread::hardware_concurrency());
    for (std::int64_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure.second && found == failure.first) std::rethrow_exception(failure.second);
  return found < rows ? found.load() : -1;
}

/// Whether all numbers of the same files were seen to be finite before.
bool is_known_finite(const std::string& identity) {
  const auto kept = kept_finding("finite", identity);
  return kept && kept->is_boolean() && kept->get<bool>();
}

}  // namespace

std::int64_t find_not_finite(const Array& array, std::int64_t from) {
  return with_element_type(array.dtype, [&](auto* type) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (!std::is_integral_v<T>) {
      const std::int64_t width = array.row_elements();
      const auto first_row = [&](std::span<const T> elements) {
        const std::int64_t found = first_unfit(elements);
        return found < 0 ? -1 : found / width;
      };
      if (!array.is_by_position()) {
        const std::span<const T> elements = array.span<T>();
        const std::int64_t found = first_row(elements.subspan(static_cast<std::size_t>(from * width)));
        return found < 0 ? -1 : from + found;
      }
      if (array.stored->are_finite()) return -1;
      const std::string identity = from == 0 ? array.stored->identity() : "";
      if (!identity.empty() && is_known_finite(identity)) return -1;
      const std::int64_t found = first_unfit_block(array, from, [&](const std::byte* rows, std::int64_t count) {
        return first_row({reinterpret_cast<const T*>(rows), static_cast<std::size_t>(count * width)});
      });
      if (!identity.empty() && found < 0 && array.stored->identity() == identity) {
        keep_finding("finite", identity, true);
      }
      return found;
    }
    return -1;
  });
}

std::string not_finite_text(const Array& array, std::int64_t row) {
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<std::byte> scratch;
    const std::span<const T> elements = elements_of_row<T>(array, row, scratch);
    const auto found = static_cast<double>(*std::ranges::find_if_not(elements, fits_float<T>));
    return fmt::format("{}: found {} where a finite number was expected; {}", array.row_text(row), found,
                       std::isfinite(found) ? "float32 holds numbers up to 3.4e38: divide them by a constant"
                                            : "remove or replace such values");
  });
}

void require_finite(const Array& array) {
  const std::int64_t row = find_not_finite(array);
  if (row >= 0) throw Error(not_finite_text(array, row));
}

namespace {

bool is_nan(const Array& array, std::int64_t row) {
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<std::byte> scratch;
    return std::ranges::any_of(elements_of_row<T>(array, row, scratch),
                               [](T number) { return std::isnan(static_cast<double>(number)); });
  });
}

/// Labels of arrays, whose NaN can stand for a missing one.
void require_finite(const Labels& labels) {
  const Array& array = labels.array;
  const std::int64_t row = find_not_finite(array);
  if (row < 0) return;
  const std::size_t named = array.origin.rfind(".npz: ");
  const bool is_npz = named != std::string::npos, is_array = is_npz || array.origin.ends_with(".npy");
  if (!is_array || labels.present || !is_nan(array, row)) throw Error(not_finite_text(array, row));
  const std::string where =
      is_npz ? fmt::format("array: {}", array.origin.substr(named + 6)) : std::string("file: FILE");
  const std::string one = fmt::format("{{{}, missing: ignore}}", where);
  throw Error(fmt::format("{}; where NaN is a missing label, write labels: {}", not_finite_text(array, row),
                          labels.name.empty() ? one : fmt::format("{{{}: {}}}", labels.name, one)));
}

}  // namespace

void load_rows(Array& array) {
  if (!array.is_by_position()) return;
  array.bytes = Bytes(checked_bytes(array.shape, size_of(array.dtype), array.origin), array.origin);
  array.stored->read_all(array.bytes.data());
  array.stored = nullptr;
}

Examples in_memory(Examples examples) {
  for (Features& input : examples.inputs) load_rows(input.array);
  for (Labels& output : examples.outputs) {
    load_rows(output.array);
    find_missing(output);
  }
  return examples;
}

void keep_rows(Array& array, const std::vector<std::int64_t>& rows) {
  if (array.is_by_position()) {
    array = picked_by_position(array, rows);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(array.row_elements()) * size_of(array.dtype);
  std::byte* to = array.bytes.data();
  std::vector<std::int64_t> picked;
  for (const std::int64_t row : rows) {
    const auto from = static_cast<std::size_t>(row);
    if (bytes > 0 && to != nullptr) std::memmove(to, array.bytes.data() + from * bytes, bytes);
    to += bytes;
    picked.push_back(array.row_in_files(row));
  }
  array.picked = std::move(picked);
  std::vector<std::int64_t> dims = array.shape.dims();
  dims[0] = static_cast<std::int64_t>(rows.size());
  array.shape = Shape(std::move(dims));
}

void keep_rows(Labels& labels, const std::vector<std::int64_t>& rows) {
  keep_rows(labels.array, rows);
  if (labels.weights) keep_rows(*labels.weights, rows);
  if (labels.present) keep_rows(*labels.present, rows);
}

void keep_rows(Examples& examples, const std::vector<std::int64_t>& rows) {
  for (Features& features : examples.inputs) {
    if (features.source) {
      features.source = std::make_shared<PickedRows>(std::move(features.source), rows);
      features.array.shape[0] = static_cast<std::int64_t>(rows.size());
    } else {
      keep_rows(features.array, rows);
    }
  }
  for (Labels& labels : examples.outputs) keep_rows(labels, rows);
}

Examples examples_of(Array features, Array labels) {
  Examples examples;
  examples.inputs.push_back({"", std::move(features)});
  examples.outputs.push_back({"", std::move(labels)});
  return examples;
}

Dataset::Dataset(Examples examples) : Dataset(std::move(examples), Numbers::kUnchecked) {}

Dataset::Dataset(Examples examples, Numbers numbers)
    : examples_(std::make_shared<const Examples>(std::move(examples))), rows_(examples_->inputs.front().array.rows()) {
  const std::string& origin = features(0).origin;
  const auto require_rows = [&](const Array& array) {
    if (array.rows() == rows_) return;
    throw Error(fmt::format("{} has {} rows but {} has {}; {} and labels need one row per example each", origin, rows_,
                            array.origin, array.rows(), inputs().front().name.empty() ? "features" : "inputs"));
  };
  for (const Features& input : inputs()) require_rows(input.array);
  for (const Labels& output : outputs()) require_rows(output.array);
  if (rows_ == 0) throw Error(fmt::format("{}: expected at least one example, found none", origin));
  const auto require_numbers = [](const Array& array) {
    if (array.row_elements() > 0) return;
    throw Error(fmt::format("{}: expected numbers in each example, found the shape {}", array.origin,
                            array.row_shape().text()));
  };
  for (const Features& input : inputs()) require_numbers(input.array);
  for (const Labels& output : outputs()) require_numbers(output.array);
  if (numbers == Numbers::kChecked) return;
  for (const Features& input : inputs()) {
    if (!input.source) require_finite(input.array);
  }
  for (const Labels& output : outputs()) require_finite(output);
}

std::vector<std::string> Dataset::remarks() const {
  std::vector<std::string> all;
  const auto add = [&](const Array& array) {
    for (const std::string& remark : array.remarks) {
      if (std::ranges::find(all, remark) == all.end()) all.push_back(remark);
    }
  };
  for (const Features& input : inputs()) add(input.array);
  for (const Labels& output : outputs()) add(output.array);
  return all;
}

Dataset Dataset::view(std::int64_t first, std::int64_t rows) const {
  if (first < 0 || rows < 0 || rows > rows_ - first) {
    throw Error(
        fmt::format("rows {} to {} are not in {}, which has {}", first, first + rows, features(0).origin, rows_));
  }
  Dataset result = *this;
  result.first_row_ += first;
  result.rows_ = rows;
  return result;
}

Dataset Dataset::with_features(std::size_t input, Array features) const {
  const auto shared_if = [](const std::optional<Array>& from) {
    return from ? std::optional(from->shared()) : std::nullopt;
  };
  Examples examples;
  for (const Features& one : inputs()) examples.inputs.push_back({one.name, one.array.shared(), one.source});
  for (const Labels& one : outputs()) {
    examples.outputs.push_back({one.name, one.array.shared(), shared_if(one.weights), shared_if(one.present)});
  }
  examples.left_out = examples_->left_out;
  examples.inputs[input] = {inputs()[input].name, std::move(features)};
  Dataset result = *this;
  result.examples_ = std::make_shared<const Examples>(std::move(examples));
  return result;
}

Dataset Dataset::select(const std::vector<std::int64_t>& rows) const {
  const auto picked = [&](const Array& from) { return picked_from(from, first_row_, rows); };
  const auto picked_if = [&](const std::optional<Array>& from) {
    return from ? std::optional(picked(*from)) : std::nullopt;
  };
  Examples examples;
  for (const Features& input : inputs()) {
    if (!input.source) {
      examples.inputs.push_back({input.name, picked(input.array)});
      continue;
    }
    Features features{input.name, {}};
    features.array.dtype = input.array.dtype;
    features.array.shape = input.array.row_shape().with_rows(static_cast<std::int64_t>(rows.size()));
    features.array.origin = input.array.origin;
    features.array.remarks = input.array.remarks;
    std::vector<std::int64_t> of_source = rows;  // not as counted in the files
    for (std::int64_t& row : of_source) row += first_row_;
    features.source = std::make_shared<PickedRows>(input.source, std::move(of_source));
    examples.inputs.push_back(std::move(features));
  }
  for (const Labels& output : outputs()) {
    examples.outputs.push_back(
        {output.name, picked(output.array), picked_if(output.weights), picked_if(output.present)});
  }
  examples.left_out = examples_->left_out;
  return Dataset(std::move(examples), Numbers::kChecked);
}

}  // namespace mirrortrain::data
