#pragma once

namespace mirrortrain::testing {

/// A configuration without mistakes, of parts that everyday mistakes replace.
inline constexpr const char* kConfig = R"(data:
  global_batch_size: 4
  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}
  validation: {fraction: 0.25}
model:
  input_shape: [8, 8, 3]
  layers:
    - flatten
    - dense: {units: 8, activation: relu}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.001}
training: {epochs: 1}
)";

}  // namespace mirrortrain::testing
