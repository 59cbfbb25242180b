#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "gpus_under_test.h"

namespace mirrortrain {

using Overrides = std::vector<std::string>;

inline doctest::Approx near(double loss) { return doctest::Approx(loss).epsilon(testing::tolerance().losses); }

inline constexpr const char* kNetwork = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 6
  shuffle: true
  train: {format: synthetic, examples: 20, shape: [6, 6, 2], classes: 3, seed: 5}
  preprocessing:
    - normalization: {mean: [0.1, 0.2], variance: [0.5, 2]}
model:
  input_shape: [6, 6, 2]
  layers:
    - conv2d: {filters: 3, kernel_size: 3, padding: same, use_bias: false, kernel_regularizer: {l1: 0.001, l2: 0.01}}
    - batch_normalization: {momentum: 0.8}
    - activation: {activation: relu}
    - max_pooling2d: {pool_size: 2}
    - dropout: {rate: 0.3}
    - flatten: {}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
)";

/// A small convolutional network, as tools/benchmark trains it.
inline constexpr const char* kCnn = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 6
  train: {format: synthetic, examples: 20, shape: [14, 14, 1], classes: 3, seed: 5}
  preprocessing:
    - rescaling: {scale: 0.5}
model:
  input_shape: [14, 14, 1]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, activation: relu}
    - max_pooling2d: {pool_size: 2}
    - conv2d: {filters: 6, kernel_size: 3, activation: relu}
    - max_pooling2d: {pool_size: 2}
    - flatten
    - dense: {units: 8, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";

/// Residual blocks, with a shortcut of its own and without.
inline constexpr const char* kResidual = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 6
  train: {format: synthetic, examples: 20, shape: [6, 6, 2], classes: 3, seed: 5}
model:
  input_shape: [6, 6, 2]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.8}
    - activation: {activation: relu, name: stem}
    - conv2d: {filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.8, name: first}
    - add: {inputs: [first, stem]}
    - activation: {activation: relu, name: block1}
    - conv2d: {filters: 5, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.8, name: second}
    - conv2d: {filters: 5, kernel_size: 1, use_bias: false, inputs: [block1]}
    - batch_normalization: {momentum: 0.8, name: shortcut}
    - add: {inputs: [second, shortcut]}
    - activation: {activation: relu}
    - global_average_pooling2d
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
)";

/// Statistics of the global batch, of branches, images and vectors, with relu and without; 23 examples leave the last
/// replicas of four without any.
inline constexpr const char* kSynchronized = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 7
  train: {format: synthetic, examples: 23, shape: [6, 6, 2], classes: 3, seed: 5}
model:
  input_shape: [6, 6, 2]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.8, synchronized: true}
    - activation: {activation: relu, name: stem}
    - conv2d: {filters: 5, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.8, synchronized: true, name: left}
    - conv2d: {filters: 5, kernel_size: 1, use_bias: false, inputs: [stem]}
    - batch_normalization: {momentum: 0.8, name: right, synchronized: true, center: false}
    - add: {inputs: [left, right]}
    - activation: {activation: relu}
    - global_average_pooling2d
    - dense: {units: 4, use_bias: false}
    - batch_normalization: {epsilon: 0.1, scale: false, synchronized: true, name: vectors}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
)";

inline constexpr const char* kDenseNetwork = R"(
seed: 4
data:
  global_batch_size: 6
  train: {format: synthetic, examples: 20, shape: [4, 4], classes: 3, seed: 5}
model:
  input_shape: [4, 4]
  layers:
    - flatten
    - dense: {units: 8, activation: relu}
    - dense: {units: 8, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";

/// Replicas on as many CPU devices, or on one GPU.
inline std::string strategy_of(const std::string& kind, int replicas) {
  std::string devices;
  for (int i = 0; i < replicas; ++i) {
    devices += fmt::format("{}{}:{}", i == 0 ? "" : ",", kind, kind == "cpu" ? i : 0);
  }
  return fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1}}", devices);
}

}  // namespace mirrortrain
