#include "data/feeder.h"

#include <fmt/format.h>

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
  return dataset;
}

}  // namespace

Feeder::Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec)
    : Feeder(dataset, fold(preprocessing), depth_of(preprocessing), spec) {}

Feeder::Feeder(const Dataset& dataset, const Affine& affine, std::int64_t depth, const InputSpec& spec)
    : dataset_(fitting(dataset, affine.channels(), depth, spec)),
      affine_(affine),
      one_hot_depth_(depth),
      to_float32_(dataset_.features(), affine, DType::kFloat32),
      to_bfloat16_(dataset_.features(), affine, DType::kBfloat16),
      labels_(dataset_.labels(), spec.labels_dtype, depth) {}

void Feeder::fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels) const {
  const RowConverter& converter = features.dtype == DType::kBfloat16 ? to_bfloat16_ : to_float32_;
  converter(dataset_.first_row(), rows, features.data);
  labels_(dataset_.first_row(), rows, labels.data);
}

}  // namespace mirrortrain::data
