#include "data/feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/wrong_numbers.h"

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
const Dataset& fitting(const Dataset& dataset, const Shape& example, std::size_t channels, std::int64_t depth,
                       const InputSpec& spec) {
  const Array &features = dataset.features(), &labels = dataset.labels();
  const std::string made = example == features.row_shape() ? "" : " after data.preprocessing";
  require(features.origin + made, features_mismatch(example, spec));
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

struct Feeder::Parts {
  std::vector<PreprocessingStep> making, single;
  std::int64_t one_hot_depth = 0;
  Shape example;  ///< as it is fed

  Parts(const std::vector<PreprocessingStep>& preprocessing, const Shape& from, bool trains)
      : single(acting_steps(preprocessing, from, trains)),
        one_hot_depth(depth_of(preprocessing)),
        example(shape_after(preprocessing, from)) {
    const auto last = std::find_if(single.rbegin(), single.rend(), is_of_pictures).base();
    making.assign(single.begin(), last);
    single.erase(single.begin(), last);
  }
};

Feeder::Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
               const FeederOptions& options)
    : Feeder(dataset, Parts(preprocessing, dataset.features().row_shape(), options.trains), spec, options) {}

Feeder::Feeder(const Dataset& dataset, const Parts& parts, const InputSpec& spec, const FeederOptions& options)
    : dataset_(fitting(dataset, parts.example, fold(parts.single).channels(), parts.one_hot_depth, spec)),
      affine_(fold(parts.single)),
      one_hot_depth_(parts.one_hot_depth),
      maker_(dataset_.source() == nullptr && parts.making.empty()
                 ? nullptr
                 : std::make_shared<ExampleMaker>(dataset_, parts.making, options.seed, options.watch)),
      to_float32_(features(), affine_, DType::kFloat32),
      to_bfloat16_(features(), affine_, DType::kBfloat16),
      labels_(dataset_.labels(), spec.labels_dtype, one_hot_depth_),
      weights_(spec.weighted ? weights_of(dataset_, options.classes) : std::vector<float>()) {
  if (!options.bucket_boundaries.empty()) buckets_ = LengthBuckets(dataset_, to_float32_, options.bucket_boundaries);
  if (!maker_) return;
  ahead_ = std::make_shared<RowsAhead>(
      [maker = maker_](const ExampleKey& key, std::span<float> to) { maker->make(key, to); },
      static_cast<std::size_t>(features().row_elements()), options.ahead);
}

void Feeder::expect(std::span<const std::int64_t> rows, std::int64_t epoch) const {
  if (ahead_) ahead_->expect(rows, epoch);
}

void Feeder::copy_features(std::span<const std::int64_t> rows, std::byte* to, std::int64_t epoch) const {
  const Array& from = features();
  const std::size_t bytes = static_cast<std::size_t>(from.row_elements()) * size_of(from.dtype);
  for (const std::int64_t row : rows) {
    if (ahead_) {
      ahead_->take({row, epoch}, [&](std::span<const float> made) { std::memcpy(to, made.data(), bytes); });
    } else {
      std::memcpy(to, from.bytes.data() + static_cast<std::size_t>(dataset_.first_row() + row) * bytes, bytes);
    }
    to += bytes;
  }
}

void Feeder::fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels,
                  float* weights, std::int64_t epoch) const {
  if (rows.empty()) return;
  const RowConverter& converter = features.dtype == DType::kBfloat16 ? to_bfloat16_ : to_float32_;
  const auto count = static_cast<std::int64_t>(rows.size());
  if (ahead_) {
    std::byte* to = features.data;
    for (const std::int64_t row : rows) {
      ahead_->take({row, epoch}, [&](std::span<const float> made) {
        converter.convert_row(reinterpret_cast<const std::byte*>(made.data()), to);
      });
      to += converter.row_bytes_to();
    }
  } else {
    converter(dataset_.first_row(), rows, features.data, features.elements() / count);
  }
  labels_(dataset_.first_row(), rows, labels.data,
          labels.elements() / count / std::max<std::int64_t>(one_hot_depth_, 1));
  if (weights == nullptr) return;
  for (const std::int64_t row : rows) *weights++ = weights_[static_cast<std::size_t>(row)];
}

}  // namespace mirrortrain::data
