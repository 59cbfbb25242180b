#include "data/feeding/feeder.h"

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

// A view of the same data set, checked to fit. `example`, `label`: shapes as fed.
const Dataset& fitting(const Dataset& dataset, const Shape& example, const Shape& label, std::size_t channels,
                       std::int64_t depth, const InputSpec& spec) {
  const Array &features = dataset.features(), &labels = dataset.labels();
  const std::string made = example == features.row_shape() ? "" : " after data.preprocessing";
  require(features.origin + made, features_mismatch(example, spec));
  require("data.preprocessing", channels_mismatch(channels, spec));
  require(labels.origin + (label == labels.row_shape() ? "" : " after data.preprocessing"),
          labels_mismatch(label, depth, spec));
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
  Shape example;  ///< as fed
  std::shared_ptr<const LabelPictures> labels;

  Parts(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
        const FeederOptions& options)
      : single(acting_steps(preprocessing, dataset.features().row_shape(), options.trains)),
        one_hot_depth(depth_of(preprocessing)),
        example(shape_after(preprocessing, dataset.features().row_shape())),
        labels(std::make_shared<LabelPictures>(dataset, single, spec, one_hot_depth, options.seed)) {
    const auto last = std::find_if(single.rbegin(), single.rend(), is_of_pictures).base();
    making.assign(single.begin(), last);
    single.erase(single.begin(), last);
  }
};

Feeder::Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
               const FeederOptions& options)
    : Feeder(dataset, Parts(dataset, preprocessing, spec, options), spec, options) {}

Feeder::Feeder(const Dataset& dataset, const Parts& parts, const InputSpec& spec, const FeederOptions& options)
    : dataset_(fitting(dataset, parts.example, parts.labels->labels().row_shape(), fold(parts.single).channels(),
                       parts.one_hot_depth, spec)),
      affine_(fold(parts.single)),
      one_hot_depth_(parts.one_hot_depth),
      maker_(dataset_.source() == nullptr && parts.making.empty()
                 ? nullptr
                 : std::make_shared<ExampleMaker>(dataset_, parts.making, options.seed, options.watch)),
      label_pictures_(parts.labels),
      to_float32_(features(), affine_, DType::kFloat32),
      to_bfloat16_(features(), affine_, DType::kBfloat16),
      labels_(labels(), spec.labels_dtype, one_hot_depth_),
      weights_(spec.weighted ? weights_of(dataset_, options.classes) : std::vector<float>()) {
  if (!options.bucket_boundaries.empty()) buckets_ = LengthBuckets(dataset_, to_float32_, options.bucket_boundaries);
  if (!maker_) return;
  const auto own = static_cast<std::size_t>(features().row_elements());
  const auto moved = static_cast<std::size_t>(label_pictures_->empty() ? 0 : labels().row_elements());
  ahead_ = std::make_shared<RowsAhead>(
      [maker = maker_, pictures = label_pictures_, own, moved](const ExampleKey& key, std::span<float> to) {
        maker->make(key, to.first(own));
        if (moved > 0) pictures->make(key, to.subspan(own));
      },
      own + moved, options.ahead);
}

void Feeder::expect(std::span<const std::int64_t> rows, std::int64_t epoch) const {
  if (ahead_) ahead_->expect(rows, epoch);
}

void Feeder::copy_examples(std::span<const std::int64_t> rows, std::byte* to_features, std::byte* to_labels,
                           std::int64_t epoch) const {
  const RowSource from(features()), from_labels(labels());
  const auto row_in = [&](const RowSource& source, std::int64_t row) {
    return source.data + static_cast<std::size_t>(dataset_.first_row() + row) * source.bytes;
  };
  for (const std::int64_t row : rows) {
    if (ahead_) {
      ahead_->take({row, epoch}, [&](std::span<const float> made) {
        std::memcpy(to_features, made.data(), from.bytes);
        if (!label_pictures_->empty()) std::memcpy(to_labels, made.data() + from.elements, from_labels.bytes);
      });
    } else {
      std::memcpy(to_features, row_in(from, row), from.bytes);
    }
    if (label_pictures_->empty()) std::memcpy(to_labels, row_in(from_labels, row), from_labels.bytes);
    to_features += from.bytes;
    to_labels += from_labels.bytes;
  }
}

void Feeder::fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels,
                  float* weights, std::int64_t epoch) const {
  if (rows.empty()) return;
  const RowConverter& converter = features.dtype == DType::kBfloat16 ? to_bfloat16_ : to_float32_;
  const auto count = static_cast<std::int64_t>(rows.size());
  if (ahead_) {
    std::byte *to = features.data, *to_labels = labels.data;
    for (const std::int64_t row : rows) {
      ahead_->take({row, epoch}, [&](std::span<const float> made) {
        converter.convert_row(reinterpret_cast<const std::byte*>(made.data()), to);
        if (label_pictures_->empty()) return;
        const auto behind = static_cast<std::size_t>(this->features().row_elements());
        labels_.convert_row(reinterpret_cast<const std::byte*>(made.data() + behind), to_labels);
      });
      to += converter.row_bytes_to();
      to_labels += labels_.row_bytes_to();
    }
  } else {
    converter(dataset_.first_row(), rows, features.data, features.elements() / count);
  }
  if (label_pictures_->empty()) {
    labels_(dataset_.first_row(), rows, labels.data,
            labels.elements() / count / std::max<std::int64_t>(one_hot_depth_, 1));
  }
  if (weights == nullptr) return;
  for (const std::int64_t row : rows) *weights++ = weights_[static_cast<std::size_t>(row)];
}

}  // namespace mirrortrain::data
