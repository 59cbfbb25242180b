#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mirrortrain::testing {

/// Stages of dense layers, with what else belongs to a stage: dropout's random bits, penalties, a constraint.
inline constexpr const char* kDenseStages = R"(
seed: 3
data:
  global_batch_size: 13
  shuffle: true
  train: {format: synthetic, examples: 40, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers:
    - dense: {units: 20, activation: tanh, kernel_regularizer: {l2: 0.01}, name: a}
    - dropout: {rate: 0.3}
    - dense: {units: 17, activation: relu, name: b}
    - layer_normalization: {name: norm}
    - dense: {units: 11, activation: tanh, kernel_regularizer: {l1: 0.001}, kernel_constraint: {max_norm: {max_value: 0.9}}, name: c}
    - dense: {units: 3, name: d}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
)";

/// A block twice, a convolution, and layers that read what earlier stages computed. It begins with `embedding`, a type
/// of layer, and has the layers `end` behind the others, of which the last gives 31 logits.
inline std::string connected_stages(std::string_view embedding, std::string_view end) {
  return fmt::format(R"(
seed: 4
data:
  global_batch_size: 11
  train: {{format: synthetic, examples: 36, inputs: {{input: {{shape: [12], below: 31}}}}, classes: 31, seed: 5}}
model:
  input_shape: [12]
  blocks:
    encoder:
      layers:
        - layer_normalization: {{name: norm}}
        - multi_head_attention: {{num_heads: 2, key_dim: 4, use_bias: false, name: attention}}
        - dropout: {{rate: 0.2}}
  layers:
    - {}: {{input_dim: 31, output_dim: 16, name: words}}
    - encoder: {{name: first}}
    - conv1d: {{filters: 16, kernel_size: 3, padding: same, activation: relu, name: convolution}}
    - encoder: {{name: second}}
    - add: {{inputs: [words, second], name: sum}}
{}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: {{type: sgd, learning_rate: 0.1}}
)",
                     embedding, end);
}

}  // namespace mirrortrain::testing
