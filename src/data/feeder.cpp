#include "data/feeder.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

void require(const std::string& origin, const std::string& mismatch) {
  if (!mismatch.empty()) throw Error(fmt::format("{}: {}", origin, mismatch));
}

std::int64_t depth_of(const std::vector<PreprocessingStep>& preprocessing) {
  const OneHot* const one_hot = find_one_hot(preprocessing);
  return one_hot == nullptr ? 0 : one_hot->depth.value;
}

// A view of the same data set that is known to fit.
const Dataset& fitting(const Dataset& dataset, std::size_t channels, std::int64_t depth, const InputSpec& spec) {
  const Array &features = dataset.features(), &labels = dataset.labels();
  require(features.origin, features_mismatch(features.row_shape(), spec));
  require("data.preprocessing", channels_mismatch(channels, spec));
  require(labels.origin, labels_mismatch(labels.row_shape(), depth, spec));
  if (const auto wrong = find_wrong_label(dataset, depth, spec)) require(labels.row_text(wrong->row), wrong->message);
  if (dataset.source() != nullptr && spec.numbers_below > 0) {
    throw Error(
        fmt::format("{}: pictures are decoded while the run continues, and an embedding needs whole numbers; "
                    "begin the model with another layer",
                    features.origin));
  }
  if (const auto wrong = find_wrong_feature(dataset, spec)) require(features.row_text(wrong->row), wrong->message);
  return dataset;
}

}  // namespace

Feeder::Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
               const RowsAhead::Options& reading)
    : Feeder(dataset, fold(preprocessing), depth_of(preprocessing), spec, reading) {}

Feeder::Feeder(const Dataset& dataset, const Affine& affine, std::int64_t depth, const InputSpec& spec,
               const RowsAhead::Options& reading)
    : dataset_(fitting(dataset, affine.channels(), depth, spec)),
      affine_(affine),
      one_hot_depth_(depth),
      to_float32_(dataset_.features(), affine, DType::kFloat32),
      to_bfloat16_(dataset_.features(), affine, DType::kBfloat16),
      labels_(dataset_.labels(), spec.labels_dtype, depth) {
  if (dataset_.source() == nullptr) return;
  const auto elements = static_cast<std::size_t>(dataset_.features().row_elements());
  ahead_ = std::make_shared<RowsAhead>(*dataset_.source(), elements, reading);
}

void Feeder::expect(std::span<const std::int64_t> rows) const {
  if (!ahead_) return;
  std::vector<std::int64_t> of_source(rows.begin(), rows.end());
  for (std::int64_t& row : of_source) row += dataset_.first_row();
  ahead_->expect(of_source);
}

void Feeder::copy_features(std::span<const std::int64_t> rows, std::byte* to) const {
  const Array& from = dataset_.features();
  const auto elements = static_cast<std::size_t>(from.row_elements());
  const std::size_t bytes = elements * size_of(from.dtype);
  for (const std::int64_t chosen : rows) {
    const std::int64_t row = dataset_.first_row() + chosen;
    if (ahead_) {
      ahead_->take(row, {reinterpret_cast<float*>(to), elements});
    } else {
      std::memcpy(to, from.bytes.data() + static_cast<std::size_t>(row) * bytes, bytes);
    }
    to += bytes;
  }
}

void Feeder::fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels) const {
  const RowConverter& converter = features.dtype == DType::kBfloat16 ? to_bfloat16_ : to_float32_;
  if (ahead_) {
    thread_local std::vector<float> elements;
    elements.resize(static_cast<std::size_t>(dataset_.features().row_elements()));
    std::byte* to = features.data;
    for (const std::int64_t row : rows) {
      ahead_->take(dataset_.first_row() + row, elements);
      converter.convert_row(reinterpret_cast<const std::byte*>(elements.data()), to);
      to += converter.row_bytes_to();
    }
  } else {
    converter(dataset_.first_row(), rows, features.data);
  }
  labels_(dataset_.first_row(), rows, labels.data);
}

}  // namespace mirrortrain::data
