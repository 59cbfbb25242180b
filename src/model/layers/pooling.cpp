#include "model/layers/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/pool2d.h"

namespace mirrortrain::layers {
namespace {

/// One axis of a value as the width of images: [elements before it, extent, elements behind it].
Shape as_lines(const Shape& shape, std::size_t axis) {
  const Shape before(std::vector<std::int64_t>(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
  const Shape behind(std::vector<std::int64_t>(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
  return {before.elements(), shape[axis], behind.elements()};
}

/// Pools along one axis.
template <class Pool>
ValueId along(LayerBuilder& builder, ValueId value, std::size_t axis, std::int64_t size, std::int64_t stride,
              ops::Padding padding) {
  Shape shape = builder.shape(value);
  const ValueId lines = builder.apply(ops::Reshape(as_lines(shape, axis)), {value});
  const ValueId pooled = builder.apply(Pool({{1, size}, {1, stride}, padding}), {lines});
  shape[axis] = builder.shape(pooled)[1];
  return builder.apply(ops::Reshape(shape), {pooled});
}

/// Images in one pass; along other numbers of axes one axis after the other, beginning with the last, which for
/// maxima and for means of the elements inside gives the same.
template <class Pool, std::size_t kAxes>
ValueId pooled(LayerBuilder& builder, ValueId value, const PoolOptions<kAxes>& options) {
  const auto strides = options.strides.value_or(options.pool_size);
  if constexpr (kAxes == 2) {
    return builder.apply(Pool({options.pool_size, strides, options.padding}), {value});
  } else {
    for (std::size_t axis = kAxes; axis-- > 0;) {
      value = along<Pool>(builder, value, axis, options.pool_size[axis], strides[axis], options.padding);
    }
    return value;
  }
}

/// Pools along one axis so that `size` elements are left.
template <class Pool>
ValueId adapted(LayerBuilder& builder, ValueId value, std::size_t axis, std::int64_t size) {
  Shape shape = builder.shape(value);
  const std::int64_t extent = shape[axis];
  constexpr ops::Padding kNoPadding = ops::Padding::kValid;
  if (extent % size == 0) return along<Pool>(builder, value, axis, extent / size, extent / size, kNoPadding);
  const ValueId lines = builder.apply(ops::Reshape(as_lines(shape, axis)), {value});
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t begin = i * extent / size, end = ((i + 1) * extent + size - 1) / size;
    const ValueId window = builder.apply(ops::Crop({0, begin, 0}, {0, extent - end, 0}), {lines});
    parts.push_back(builder.apply(Pool({{1, end - begin}, {1, end - begin}, kNoPadding}), {window}));
  }
  shape[axis] = size;
  return builder.apply(ops::Reshape(shape), {builder.apply(ops::Concatenate(1), std::move(parts))});
}

template <class Pool, std::size_t kAxes>
ValueId adapted(LayerBuilder& builder, ValueId value, const std::array<std::int64_t, kAxes>& output_size) {
  builder.spatial(value, kAxes);
  for (std::size_t axis = kAxes; axis-- > 0;) value = adapted<Pool>(builder, value, axis, output_size[axis]);
  return value;
}

/// Pools everything before the channels.
template <class Pool>
ValueId global(LayerBuilder& builder, ValueId value, std::size_t axes) {
  const Shape shape = builder.spatial(value, axes);
  const std::int64_t positions = shape.elements() / shape.back();
  const Shape image = axes == 2 ? shape : Shape{1, positions, shape.back()};
  return builder.apply(Pool(), {axes == 2 ? value : builder.apply(ops::Reshape(image), {value})});
}

/// `pooled`, [channels], with `axes` leading axes of 1 if they are kept.
ValueId finished(LayerBuilder& builder, ValueId pooled, std::size_t axes, bool keepdims) {
  if (!keepdims) return pooled;
  std::vector<std::int64_t> dims(axes, 1);
  dims.push_back(builder.shape(pooled).back());
  return builder.apply(ops::Reshape(Shape(dims)), {pooled});
}

/// What comes before the channels.
template <std::size_t kAxes>
constexpr std::string_view kBeforeChannels = by_axes<kAxes>("the steps", "height and width", "depth, height and width");

}  // namespace

template <std::size_t kAxes>
void PoolOptions<kAxes>::check_windows(LayerBuilder& builder, ValueId source) const {
  const Shape& shape = builder.spatial(source, kAxes);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (padding == ops::Padding::kSame || pool_size[axis] <= shape[axis]) continue;
    constexpr std::array<std::string_view, 3> kNames{"depth", "height", "width"};
    throw Error(
        fmt::format("a window of {} does not fit into the {} of {} without padding; take a smaller pool_size, "
                    "or padding: same",
                    pool_size[axis], kAxes == 1 ? "steps" : kNames[axis + 3 - kAxes], builder.described(source)));
  }
}

template <std::size_t kAxes>
config::Section<MaxPooling<kAxes>> MaxPooling<kAxes>::section() {
  return config::Section<MaxPooling>(
             fmt::format("{}D max pooling: the maximum of each window, of at most 256 elements{}.", kAxes,
                         kAxes == 3 ? " along each axis" : ""))
      .template include<PoolOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId MaxPooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  this->check_windows(builder, sources[0]);
  return pooled<ops::MaxPool2d>(builder, sources[0], *this);
}

template <std::size_t kAxes>
config::Section<AveragePooling<kAxes>> AveragePooling<kAxes>::section() {
  return config::Section<AveragePooling>(
             fmt::format("{}D average pooling: the mean of each window, padding not counted.", kAxes))
      .template include<PoolOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId AveragePooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  this->check_windows(builder, sources[0]);
  return pooled<ops::AveragePool2d>(builder, sources[0], *this);
}

template <std::size_t kAxes>
config::Section<AdaptiveMaxPooling<kAxes>> AdaptiveMaxPooling<kAxes>::section() {
  return config::Section<AdaptiveMaxPooling>(
             fmt::format("{}D max pooling to an output of a given size: each element is the maximum of its share of "
                         "the input.",
                         kAxes))
      .template include<AdaptivePoolOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId AdaptiveMaxPooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return adapted<ops::MaxPool2d>(builder, sources[0], this->output_size);
}

template <std::size_t kAxes>
config::Section<AdaptiveAveragePooling<kAxes>> AdaptiveAveragePooling<kAxes>::section() {
  return config::Section<AdaptiveAveragePooling>(
             fmt::format("{}D average pooling to an output of a given size: each element is the mean of its share of "
                         "the input.",
                         kAxes))
      .template include<AdaptivePoolOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId AdaptiveAveragePooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return adapted<ops::AveragePool2d>(builder, sources[0], this->output_size);
}

template <std::size_t kAxes>
config::Section<GlobalAveragePooling<kAxes>> GlobalAveragePooling<kAxes>::section() {
  return config::Section<GlobalAveragePooling>(
             fmt::format("Global average pooling: the mean over {}.", kBeforeChannels<kAxes>))
      .template include<GlobalPoolOptions>();
}

template <std::size_t kAxes>
ValueId GlobalAveragePooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (kAxes == 1 && builder.has_masks()) {
    builder.sequence(sources[0]);
    builder.note_mean_of_steps();
    return finished(builder, builder.apply(ops::MaskedMean(), {sources[0], builder.mask(0)}), 1, keepdims);
  }
  return finished(builder, global<ops::GlobalAveragePool2d>(builder, sources[0], kAxes), kAxes, keepdims);
}

template <std::size_t kAxes>
config::Section<GlobalMaxPooling<kAxes>> GlobalMaxPooling<kAxes>::section() {
  return config::Section<GlobalMaxPooling>(
             fmt::format("Global max pooling: the maximum over {}.", kBeforeChannels<kAxes>))
      .template include<GlobalPoolOptions>();
}

template <std::size_t kAxes>
ValueId GlobalMaxPooling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return finished(builder, global<ops::GlobalMaxPool2d>(builder, sources[0], kAxes), kAxes, keepdims);
}

template struct MaxPooling<1>;
template struct MaxPooling<2>;
template struct MaxPooling<3>;
template struct AveragePooling<1>;
template struct AveragePooling<2>;
template struct AveragePooling<3>;
template struct AdaptiveMaxPooling<1>;
template struct AdaptiveMaxPooling<2>;
template struct AdaptiveMaxPooling<3>;
template struct AdaptiveAveragePooling<1>;
template struct AdaptiveAveragePooling<2>;
template struct AdaptiveAveragePooling<3>;
template struct GlobalAveragePooling<1>;
template struct GlobalAveragePooling<2>;
template struct GlobalAveragePooling<3>;
template struct GlobalMaxPooling<1>;
template struct GlobalMaxPooling<2>;
template struct GlobalMaxPooling<3>;

}  // namespace mirrortrain::layers
