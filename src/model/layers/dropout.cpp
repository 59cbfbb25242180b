#include "model/layers/dropout.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::less_than, config::required;

constexpr std::string_view kNoiseShapeHelp =
    "Shape of what is drawn, batch first: 1 along an axis whose elements are dropped together, null for the input's "
    "extent; null: the input's shape.";

/// The formula of `x`, the source, and of `noise`, in float32.
ValueId with_noise(LayerBuilder& builder, ValueId source, const std::string& formula, ValueId noise) {
  const DType dtype = builder.graph().spec(source).dtype;
  const bool is_narrow = dtype != DType::kFloat32;
  const ValueId x = is_narrow ? builder.apply(ops::Cast(DType::kFloat32), {source}) : source;
  const ValueId noisy = formula::add_formula(builder.graph(), formula, {{"x", x}, {"noise", noise}}, DType::kFloat32);
  return is_narrow ? builder.apply(ops::Cast(dtype), {noisy}) : noisy;
}

ValueId normal_numbers(LayerBuilder& builder, ValueId like) {
  return builder.apply(ops::RandomNormal(builder.shape(like), builder.random_stream()), {builder.rows()});
}

using NoiseShape = std::vector<std::optional<std::int64_t>>;

/// Throws Error where what is drawn cannot be broadcast to the input, or is one for the whole batch.
Shape drawn_shape(const LayerBuilder& builder, ValueId source, const NoiseShape& wanted) {
  Shape shape = builder.shape(source);
  if (wanted.size() != shape.rank() + 1) {
    throw Error(fmt::format("expected a noise_shape of {} extents, the batch's first, for the shape {}, found {}",
                            shape.rank() + 1, builder.described(source), wanted.size()));
  }
  if (wanted[0]) throw Error("every example draws its own; expected null as the first extent of noise_shape");
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = wanted[axis + 1].value_or(shape[axis]);
    if (extent != 1 && extent != shape[axis]) {
      throw Error(fmt::format("expected {0}, 1 or null as extent {1} of noise_shape for the shape {2}, found {3}",
                              shape[axis], axis + 1, builder.described(source), extent));
    }
    shape[axis] = extent;
  }
  return shape;
}

}  // namespace

ValueId drawn_mask(LayerBuilder& builder, Shape shape, float rate, DType dtype) {
  const ValueId ones = builder.apply(ops::FullMask(std::move(shape)), {builder.rows()});
  const ValueId drawn = builder.apply(ops::Dropout(rate, builder.random_stream()), {ones});
  return dtype == DType::kFloat32 ? drawn : builder.apply(ops::Cast(dtype), {drawn});
}

ValueId dropped_alike(LayerBuilder& builder, ValueId source, Shape drawn, float rate) {
  return with_noise(builder, source, "x * noise", drawn_mask(builder, std::move(drawn), rate));
}

config::Section<Dropout> Dropout::section() {
  return config::Section<Dropout>(
             "Sets elements to 0 at random during training, and scales the others by 1 / (1 - rate).")
      .advice("keep_prob", "write rate, the part that is set to 0: 1 - keep_prob")
      .key("rate", &Dropout::rate, "Fraction of the elements to drop.", required, at_least(0), less_than(1),
           config::aliases("p, prob, probability, dropout_rate"))
      .key("noise_shape", &Dropout::noise_shape, kNoiseShapeHelp, at_least(1))
      .include<LayerCommon>();
}

ValueId Dropout::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape shape = noise_shape ? drawn_shape(builder, sources[0], *noise_shape) : builder.shape(sources[0]);
  if (builder.mode() == Mode::kEvaluation || rate == 0) return sources[0];
  if (shape != builder.shape(sources[0])) {
    return dropped_alike(builder, sources[0], shape, rate);
  }
  return builder.apply(ops::Dropout(rate, builder.random_stream()), {sources[0]});
}

template <std::size_t kAxes>
config::Section<SpatialDropout<kAxes>> SpatialDropout<kAxes>::section() {
  return config::Section<SpatialDropout>(
             fmt::format("Sets whole channels of {} to 0 at random during training, and scales the others by 1 / (1 - "
                         "rate).",
                         by_axes<kAxes>("sequences", "images", "volumes")))
      .key("rate", &SpatialDropout::rate, "Fraction of the channels to drop.", required, at_least(0), less_than(1),
           config::aliases("p, prob, probability, dropout_rate"))
      .template include<LayerCommon>();
}

template <std::size_t kAxes>
ValueId SpatialDropout<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& shape = builder.spatial(sources[0], kAxes);
  if (builder.mode() == Mode::kEvaluation || rate == 0) return sources[0];
  std::vector<std::int64_t> dims(kAxes, 1);
  dims.push_back(shape.back());
  return dropped_alike(builder, sources[0], Shape(dims), rate);
}

config::Section<GaussianDropout> GaussianDropout::section() {
  return config::Section<GaussianDropout>(
             "Multiplies elements during training by normal numbers of mean 1 and variance rate / (1 - rate).")
      .key("rate", &GaussianDropout::rate, "The variance is rate / (1 - rate), that of dropout at this rate.", required,
           at_least(0), less_than(1))
      .include<LayerCommon>();
}

ValueId GaussianDropout::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (builder.mode() == Mode::kEvaluation || rate == 0) return sources[0];
  const float stddev = std::sqrt(rate / (1 - rate));
  return with_noise(builder, sources[0], fmt::format("x * (1 + {} * noise)", stddev),
                    normal_numbers(builder, sources[0]));
}

config::Section<GaussianNoise> GaussianNoise::section() {
  return config::Section<GaussianNoise>("Adds normal numbers of mean 0 during training.")
      .key("stddev", &GaussianNoise::stddev, "Standard deviation of the noise.", required, at_least(0),
           config::aliases("std, sigma"))
      .include<LayerCommon>();
}

ValueId GaussianNoise::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (builder.mode() == Mode::kEvaluation || stddev == 0) return sources[0];
  return with_noise(builder, sources[0], fmt::format("x + {} * noise", stddev), normal_numbers(builder, sources[0]));
}

config::Section<AlphaDropout> AlphaDropout::section() {
  return config::Section<AlphaDropout>(
             "Dropout for behind selu: dropped elements become selu's limit for small x, and mean and variance stay.")
      .key("rate", &AlphaDropout::rate, "Fraction of the elements to drop.", required, at_least(0), less_than(1),
           config::aliases("p, prob, probability, dropout_rate"))
      .key("noise_shape", &AlphaDropout::noise_shape, kNoiseShapeHelp, at_least(1))
      .include<LayerCommon>();
}

ValueId AlphaDropout::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape shape = noise_shape ? drawn_shape(builder, sources[0], *noise_shape) : builder.shape(sources[0]);
  if (builder.mode() == Mode::kEvaluation || rate == 0) return sources[0];
  constexpr double kLimit = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLimit * kLimit)), offset = -scale * kLimit * rate;
  return with_noise(builder, sources[0], fmt::format("{} * where(noise > 0, x, {}) + {}", scale, kLimit, offset),
                    drawn_mask(builder, shape, rate));
}

template struct SpatialDropout<1>;
template struct SpatialDropout<2>;
template struct SpatialDropout<3>;

}  // namespace mirrortrain::layers
