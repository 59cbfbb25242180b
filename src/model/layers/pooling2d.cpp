#include "model/layers/pooling2d.h"

#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"

namespace mirrortrain::layers {

config::Section<MaxPooling2d> MaxPooling2d::section() {
  return config::Section<MaxPooling2d>("2D max pooling: the maximum of each window, of at most 256 elements.")
      .include<Pool2dOptions>();
}

ValueId MaxPooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::MaxPool2d(attributes()), {sources[0]});
}

config::Section<AveragePooling2d> AveragePooling2d::section() {
  return config::Section<AveragePooling2d>("2D average pooling: the mean of each window, padding not counted.")
      .include<Pool2dOptions>();
}

ValueId AveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::AveragePool2d(attributes()), {sources[0]});
}

ValueId GlobalPoolOptions::finished(LayerBuilder& builder, ValueId pooled, std::size_t axes) const {
  if (!keepdims) return pooled;
  std::vector<std::int64_t> dims(axes, 1);
  dims.push_back(builder.shape(pooled).back());
  return builder.apply(ops::Reshape(Shape(dims)), {pooled});
}

config::Section<GlobalAveragePooling2d> GlobalAveragePooling2d::section() {
  return config::Section<GlobalAveragePooling2d>("Global average pooling: the mean over height and width.")
      .include<GlobalPoolOptions>();
}

ValueId GlobalAveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return finished(builder, builder.apply(ops::GlobalAveragePool2d{}, {sources[0]}), 2);
}

config::Section<GlobalMaxPooling2d> GlobalMaxPooling2d::section() {
  return config::Section<GlobalMaxPooling2d>("Global max pooling: the maximum over height and width.")
      .include<GlobalPoolOptions>();
}

ValueId GlobalMaxPooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return finished(builder, builder.apply(ops::GlobalMaxPool2d{}, {sources[0]}), 2);
}

config::Section<GlobalAveragePooling1d> GlobalAveragePooling1d::section() {
  return config::Section<GlobalAveragePooling1d>("Global average pooling of sequences: the mean over the steps.")
      .include<GlobalPoolOptions>();
}

ValueId GlobalAveragePooling1d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& sequence = builder.sequence(sources[0]);
  if (builder.has_masks()) {
    builder.note_mean_of_steps();
    return finished(builder, builder.apply(ops::MaskedMean(), {sources[0], builder.mask(0)}), 1);
  }
  const ValueId image = builder.apply(ops::Reshape({1, sequence[0], sequence[1]}), {sources[0]});
  return finished(builder, builder.apply(ops::GlobalAveragePool2d{}, {image}), 1);
}

}  // namespace mirrortrain::layers
