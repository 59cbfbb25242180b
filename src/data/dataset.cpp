#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "data/fields.h"
#include "data/finite.h"

namespace mirrortrain::data {
namespace {

/// Rows of an array that is read by position.
Array picked_by_position(const Array& from, std::vector<std::int64_t> rows) {
  Array to = from.without_elements();
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
  Array to = from.without_elements();
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
  void will_read(std::int64_t row) const override { from_->will_read(rows_[static_cast<std::size_t>(row)]); }
  std::uint64_t stored_bytes(std::int64_t row) const override {
    return from_->stored_bytes(rows_[static_cast<std::size_t>(row)]);
  }
  std::uint32_t checksum(std::int64_t row) const override {
    return from_->checksum(rows_[static_cast<std::size_t>(row)]);
  }
  std::string row_text(std::int64_t row) const override {
    return from_->row_text(rows_[static_cast<std::size_t>(row)]);
  }
  std::string place_text(std::int64_t row) const override {
    return from_->place_text(rows_[static_cast<std::size_t>(row)]);
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
