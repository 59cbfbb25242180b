// Small networks drawn at random: whatever layers are put together, the gradients are those of finite differences.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "runtime/network.h"

namespace mirrortrain {
namespace {

using testing::check_slope;
using testing::Network;

/// What a network's examples are.
enum class Examples : std::uint8_t { kImages, kSequences, kTokens };

constexpr int kHeight = 5, kWidth = 6, kSteps = 7, kTokens = 9;

std::string input_shape_of(Examples examples) {
  if (examples == Examples::kImages) return fmt::format("[{}, {}, 4]", kHeight, kWidth);
  return examples == Examples::kSequences ? fmt::format("[{}, 4]", kSteps) : fmt::format("[{}]", kSteps);
}

/// Draws a network layer by layer.
class Architecture {
 public:
  explicit Architecture(unsigned seed) : bits_(seed) {}

  /// The lines below model.layers.
  std::string draw(Examples examples) {
    const bool of_images = examples == Examples::kImages;
    if (examples == Examples::kTokens) {
      line(fmt::format("embedding: {{input_dim: {}, output_dim: 4}}", kTokens));
      if (number(2) == 0) line(fmt::format("position_embedding: {{sequence_length: {}}}", kSteps));
    }
    const int layers = 2 + number(4);
    for (int i = 0; i < layers; ++i) of_images ? add_image_layer() : add_sequence_layer();
    if (of_images && number(2) == 0) {
      line(pick({"global_average_pooling2d", "global_max_pooling2d"}) + pick({": {}", ": {keepdims: true}"}));
    } else if (!of_images && number(3) == 0) {
      line("global_average_pooling1d");
    }
    line("flatten: {}");
    line(fmt::format("dense: {{units: 3, activation: {}}}", activation()));
    return text_;
  }

 private:
  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(bits_); }
  std::string pick(const std::vector<std::string>& from) {
    return from[static_cast<std::size_t>(number(static_cast<int>(from.size())))];
  }
  std::string activation() {
    return pick({"linear", "relu", "leaky_relu", "elu", "selu", "sigmoid", "tanh", "softplus", "silu", "gelu",
                 "softmax", "hard_sigmoid", "hard_silu", "relu6", "mish", "softsign", "exponential"});
  }
  std::string interpolation() { return pick({"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"}); }
  std::string boolean() { return pick({"true", "false"}); }
  void line(const std::string& layer) { text_ += "    - " + layer + "\n"; }

  /// The options of a window over the images; `extents` of its kernel. What comes out has the sizes that are set here.
  std::string window(std::array<int, 2> extents, bool dilates) {
    const int strides = 1 + number(2);
    const bool dilated = dilates && strides == 1 && number(3) == 0;
    if (dilated) extents = {2 * extents[0] - 1, 2 * extents[1] - 1};
    const bool valid = extents[0] <= height_ && extents[1] <= width_ && number(2) == 0;
    const auto outputs = [&](int size, int extent) { return (size - (valid ? extent : 1)) / strides + 1; };
    height_ = outputs(height_, extents[0]);
    width_ = outputs(width_, extents[1]);
    return fmt::format("strides: {}, padding: {}{}", strides, valid ? "valid" : "same",
                       dilated ? ", dilation_rate: 2" : "");
  }

  void add_convolution(const std::string& type, const std::string& options) {
    const std::array<int, 2> kernel{1 + number(3), 1 + number(4)};
    line(fmt::format("{}: {{{}kernel_size: [{}, {}], {}, activation: {}, use_bias: {}}}", type, options, kernel[0],
                     kernel[1], window(kernel, true), activation(), boolean()));
  }

  void add_pooling(const std::string& type) {
    const std::array<int, 2> pool{1 + number(3), 2 + number(2)};
    line(fmt::format("{}: {{pool_size: [{}, {}], {}}}", type, pool[0], pool[1], window(pool, false)));
  }

  void add_transposed(int filters) {
    const std::array<int, 2> kernel{1 + number(3), 1 + number(4)};
    const int strides = height_ * width_ > 100 ? 1 : 1 + number(2);
    const bool valid = number(2) == 0;
    height_ = valid ? (height_ - 1) * strides + std::max(kernel[0], strides) : height_ * strides;
    width_ = valid ? (width_ - 1) * strides + std::max(kernel[1], strides) : width_ * strides;
    line(
        fmt::format("conv2d_transpose: {{filters: {}, kernel_size: [{}, {}], strides: {}, padding: {}, "
                    "activation: {}, use_bias: {}}}",
                    filters, kernel[0], kernel[1], strides, valid ? "valid" : "same", activation(), boolean()));
  }

  /// Layers that only move or copy elements.
  void add_arrangement() {
    switch (number(5)) {
      case 0: height_ += 2, width_ += 3; return line("zero_padding2d: {padding: [[2, 0], [1, 2]]}");
      case 1:
        if (height_ * width_ > 100) return;
        width_ *= 2;
        return line(fmt::format("upsampling2d: {{size: [1, 2], interpolation: {}}}", interpolation()));
      case 2:
        if (height_ * width_ > 50) return;
        height_ *= 2, width_ *= 2;
        return line(fmt::format("upsampling2d: {{interpolation: {}}}", interpolation()));
      case 3: std::swap(height_, width_); return line("permute: {dims: [2, 1, 3]}");
      default:
        std::swap(height_, width_);
        return line(fmt::format("reshape: {{target_shape: [{}, {}, -1]}}", height_, width_));
    }
  }

  void add_image_layer() {
    const int filters = 2 * (1 + number(3));
    switch (number(14)) {
      case 0: return add_convolution("conv2d", fmt::format("filters: {}, ", filters));
      case 1: return add_convolution("conv2d", fmt::format("filters: {}, groups: 2, ", filters));
      case 2: return add_convolution("depthwise_conv2d", fmt::format("depth_multiplier: {}, ", 1 + number(2)));
      case 3: return add_convolution("separable_conv2d", fmt::format("filters: {}, ", filters));
      case 4: return add_transposed(filters);
      case 5: return add_pooling("average_pooling2d");
      case 6: return add_pooling("max_pooling2d");
      case 7: return add_arrangement();
      case 8:
        return line(pick({"batch_normalization: {}", "batch_normalization: {synchronized: true}",
                          "batch_normalization: {synchronized: true, center: false}", "layer_normalization: {}",
                          "group_normalization: {groups: 2}", "group_normalization: {groups: -1, scale: false}"}));
      case 9: return line(pick({"prelu: {alpha_initializer: random_normal}", "prelu: {shared_axes: [1, 2]}"}));
      case 10: return add_branch(filters);
      case 11: return add_gate(filters);
      case 12: return line(pick({"softmax: {}", fmt::format("activation: {{activation: {}}}", activation())}));
      default: return line(fmt::format("dropout: {{rate: 0.{}}}", number(6)));
    }
  }

  void add_sequence_layer() {
    switch (number(11)) {
      case 0:
        return line(fmt::format("conv1d: {{filters: {}, kernel_size: {}, padding: same, activation: {}}}",
                                2 * (1 + number(3)), 1 + number(4), activation()));
      case 1:
        return line(fmt::format("conv1d: {{filters: 4, kernel_size: 2, groups: 2, strides: {}, padding: same}}",
                                1 + number(2)));
      case 2: return line("conv1d: {filters: 4, kernel_size: 2, dilation_rate: 3, padding: same}");
      case 3: return line("layer_normalization: {}");
      case 4: return line(fmt::format("dense: {{units: {}, activation: {}}}", 2 * (1 + number(3)), activation()));
      case 5:
        return line(pick({"multi_head_attention: {num_heads: 2, key_dim: 3, use_causal_mask: true}",
                          "multi_head_attention: {num_heads: 3, key_dim: 2, value_dim: 4, dropout: 0.2}"}));
      case 6:
        return line(fmt::format("lstm: {{units: {}, return_sequences: true, go_backwards: {}, use_bias: {}}}",
                                2 * (1 + number(3)), boolean(), boolean()));
      case 7:
        return line(fmt::format("gru: {{units: {}, return_sequences: true, go_backwards: {}, reset_after: {}}}",
                                2 * (1 + number(3)), boolean(), boolean()));
      case 8: return line(pick({"softmax: {}", fmt::format("activation: {{activation: {}}}", activation())}));
      case 9: return line(pick({"flip: {}", "flip: {axis: -1}"}));
      default: return line("prelu: {shared_axes: [1]}");
    }
  }

  /// Two ways that meet again.
  void add_branch(int filters) {
    const std::string merge = pick({"add", "subtract", "multiply", "average", "maximum", "concatenate"});
    const std::string id = std::to_string(++names_);
    const std::string options =
        fmt::format("filters: {}, kernel_size: [{}, {}], padding: same", filters, 1 + number(3), 1 + number(4));
    line(fmt::format("activation: {{activation: linear, name: from_{}}}", id));
    line(fmt::format("conv2d: {{{}, activation: tanh, name: left_{}}}", options, id));
    line(fmt::format("conv2d: {{{}, inputs: [from_{}], name: right_{}}}", options, id, id));
    line(fmt::format("{}: {{inputs: [left_{}, right_{}]}}", merge, id, id));
  }

  /// Each channel multiplied by what a small network makes of all of them.
  void add_gate(int filters) {
    const std::string id = std::to_string(++names_);
    line(fmt::format("conv2d: {{filters: {}, kernel_size: 1, name: gated_{}}}", filters, id));
    line(pick({"global_average_pooling2d: {keepdims: true}", "global_average_pooling2d: {}", "global_max_pooling2d"}));
    line(fmt::format("dense: {{units: {}, activation: sigmoid, name: gate_{}}}", filters, id));
    line(fmt::format("multiply: {{inputs: [gated_{}, gate_{}]}}", id, id));
  }

  std::mt19937 bits_;
  std::string text_;
  int height_ = kHeight, width_ = kWidth, names_ = 0;
};

}  // namespace

TEST_CASE("networks of any layers have the gradients of finite differences") {
  int checked = 0, tried = 0;
  for (unsigned seed = 1; seed <= 160; ++seed) {
    const Examples examples = seed % 4 != 0   ? Examples::kImages
                              : seed % 8 != 0 ? Examples::kSequences
                                              : Examples::kTokens;
    const std::string layers = Architecture(seed).draw(examples);
    CAPTURE(seed);
    CAPTURE(layers);
    Network network(build_layers(input_shape_of(examples), layers), seed);
    if (examples == Examples::kTokens) network.fill_with_numbers(kTokens);
    for (unsigned direction = 0; direction < 3; ++direction, ++tried) {
      checked += check_slope(network, 100 * seed + direction) ? 1 : 0;
    }
  }
  CHECK(10 * checked >= 9 * tried);
}

}  // namespace mirrortrain
