// Small networks drawn at random: whatever layers are put together, the gradients are those of finite differences.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/cpu/registry.h"
#include "model/from_text.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using testing::BoundRun;
using testing::GraphInputs;

/// Draws a network of images, or of sequences, layer by layer.
class Architecture {
 public:
  explicit Architecture(unsigned seed) : bits_(seed) {}

  /// The lines below model.layers.
  std::string draw(bool of_images) {
    const int layers = 2 + number(4);
    for (int i = 0; i < layers; ++i) of_images ? add_image_layer() : add_sequence_layer();
    if (of_images && number(2) == 0) {
      line(pick({"global_average_pooling2d: {}", "global_average_pooling2d: {keepdims: true}"}));
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
  std::string activation() { return pick({"linear", "tanh", "sigmoid", "silu", "gelu", "softplus", "relu"}); }
  std::string boolean() { return pick({"true", "false"}); }
  void line(const std::string& layer) { text_ += "    - " + layer + "\n"; }

  void add_image_layer() {
    const int filters = 2 * (1 + number(3));
    const std::string common =
        fmt::format("padding: same, strides: {}, activation: {}, use_bias: {}", 1 + number(2), activation(), boolean());
    const std::string kernel = fmt::format("kernel_size: [{}, {}]", 1 + number(3), 1 + number(4));
    switch (number(12)) {
      case 0: return line(fmt::format("conv2d: {{filters: {}, {}, {}}}", filters, kernel, common));
      case 1: return line(fmt::format("conv2d: {{filters: {}, {}, groups: 2, {}}}", filters, kernel, common));
      case 2:
        return line(fmt::format("depthwise_conv2d: {{{}, depth_multiplier: {}, {}}}", kernel, 1 + number(2), common));
      case 3: return line(fmt::format("separable_conv2d: {{filters: {}, {}, {}}}", filters, kernel, common));
      case 4: return line(fmt::format("conv2d_transpose: {{filters: {}, {}, {}}}", filters, kernel, common));
      case 5:
        return line(fmt::format("average_pooling2d: {{pool_size: {}, strides: 1, padding: same}}", 2 + number(2)));
      case 6:
        return line(pick({"zero_padding2d: {padding: [1, 2]}", "upsampling2d: {size: [1, 2]}",
                          "upsampling2d: {interpolation: bilinear}", "permute: {dims: [2, 1, 3]}"}));
      case 7:
        return line(pick({"batch_normalization: {}", "batch_normalization: {synchronized: true}",
                          "batch_normalization: {synchronized: true, center: false}", "layer_normalization: {}",
                          "group_normalization: {groups: 2}", "group_normalization: {groups: -1, scale: false}"}));
      case 8: return line(pick({"prelu: {alpha_initializer: random_normal}", "prelu: {shared_axes: [1, 2]}"}));
      case 9: return add_branch(filters, kernel);
      case 10: return add_gate(filters);
      default: return line(fmt::format("dropout: {{rate: 0.{}}}", number(6)));
    }
  }

  void add_sequence_layer() {
    switch (number(8)) {
      case 0:
        return line(fmt::format("conv1d: {{filters: {}, kernel_size: {}, padding: same, activation: {}}}",
                                2 * (1 + number(3)), 1 + number(4), activation()));
      case 1:
        return line(fmt::format("conv1d: {{filters: 4, kernel_size: 2, groups: 2, strides: {}, padding: same}}",
                                1 + number(2)));
      case 2: return line("layer_normalization: {}");
      case 3: return line(fmt::format("dense: {{units: {}, activation: {}}}", 2 * (1 + number(3)), activation()));
      case 4:
        return line(pick({"multi_head_attention: {num_heads: 2, key_dim: 3, use_causal_mask: true}",
                          "multi_head_attention: {num_heads: 3, key_dim: 2, value_dim: 4, dropout: 0.2}"}));
      case 5:
        return line(fmt::format("lstm: {{units: {}, return_sequences: true, go_backwards: {}, use_bias: {}}}",
                                1 + number(6), boolean(), boolean()));
      case 6:
        return line(fmt::format("gru: {{units: {}, return_sequences: true, go_backwards: {}, reset_after: {}}}",
                                1 + number(6), boolean(), boolean()));
      default: return line("prelu: {shared_axes: [1]}");
    }
  }

  /// Two ways that meet again.
  void add_branch(int filters, const std::string& kernel) {
    const std::string merge = pick({"add", "subtract", "multiply", "average", "maximum", "concatenate"});
    const std::string id = std::to_string(++names_);
    const std::string options = fmt::format("filters: {}, {}, padding: same", filters, kernel);
    line(fmt::format("activation: {{activation: linear, name: from_{}}}", id));
    line(fmt::format("conv2d: {{{}, activation: tanh, name: left_{}}}", options, id));
    line(fmt::format("conv2d: {{{}, inputs: [from_{}], name: right_{}}}", options, id, id));
    line(fmt::format("{}: {{inputs: [left_{}, right_{}]}}", merge, id, id));
  }

  /// Each channel multiplied by what a small network makes of all of them.
  void add_gate(int filters) {
    const std::string id = std::to_string(++names_);
    line(fmt::format("conv2d: {{filters: {}, kernel_size: 1, name: gated_{}}}", filters, id));
    line(pick({"global_average_pooling2d: {keepdims: true}", "global_average_pooling2d: {}"}));
    line(fmt::format("dense: {{units: {}, activation: sigmoid, name: gate_{}}}", filters, id));
    line(fmt::format("multiply: {{inputs: [gated_{}, gate_{}]}}", id, id));
  }

  std::mt19937 bits_;
  std::string text_;
  int names_ = 0;
};

/// A network in training, as numbers: the mean loss, and its gradients.
class Network {
 public:
  Network(const std::string& input_shape, const std::string& layers, unsigned seed)
      : built_(build_layers(input_shape, layers)), made_(built_.model.training) {
    REQUIRE_MESSAGE(built_.errors == "", built_.errors);
    outputs_.push_back(made_.loss);
    for (const ValueId gradient : made_.gradients) {
      if (gradient != kNoValue) outputs_.push_back(gradient);
    }
    gradients_ = outputs_.size() - 1;
    for (const ReplicaSum& sum : made_.graph.replica_sums()) outputs_.push_back(sum.own);
    program_ = std::make_unique<Program>(made_.graph, kRows, outputs_, cpu::kernel_registry(), 1);
    inputs_ = std::make_unique<GraphInputs>(made_.graph, kRows, seed);
    for (const ValueId variable : made_.variables) {
      for (float& element : inputs_->floats(variable)) element *= 0.7f;
    }
  }

  /// The trained variables' gradients as one list.
  std::vector<double> gradients() {
    BoundRun run(made_.graph, *program_, outputs_, *inputs_);
    run.bound->enqueue(run.stream);
    std::vector<double> all;
    for (std::size_t i = 1; i <= gradients_; ++i) {
      for (const float element : run.floats(i)) all.push_back(static_cast<double>(element));
    }
    return all;
  }

  /// The loss with every trained variable `step` along the direction.
  double loss_along(const std::vector<double>& direction, double step) {
    std::vector<std::vector<float>> before;
    std::size_t next = 0;
    for (std::size_t i = 0; i < made_.variables.size(); ++i) {
      const std::span<float> elements = inputs_->floats(made_.variables[i]);
      before.emplace_back(elements.begin(), elements.end());
      if (made_.gradients[i] == kNoValue) continue;
      for (float& element : elements) element += static_cast<float>(step * direction[next++]);
    }
    BoundRun run(made_.graph, *program_, outputs_, *inputs_);
    run.bound->enqueue(run.stream);
    double loss = 0;
    std::memcpy(&loss, run.bytes(0).data(), sizeof(loss));
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::ranges::copy(before[i], inputs_->floats(made_.variables[i]).begin());
    }
    return loss / static_cast<double>(kRows);
  }

 private:
  static constexpr std::int64_t kRows = 3;

  Built built_;
  const ModelGraph& made_;
  std::vector<ValueId> outputs_;  ///< the loss, gradients, what is added over the replicas
  std::size_t gradients_ = 0;
  std::unique_ptr<Program> program_;
  std::unique_ptr<GraphInputs> inputs_;
};

/// Compares the slope along random directions. Where two step sizes do not agree there is a kink between, and nothing
/// is learned; returns whether they did.
bool check_slope(Network& network, unsigned seed) {
  const std::vector<double> gradients = network.gradients();
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> direction(gradients.size());
  double expected = 0, size = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] = normal(bits);
    expected += direction[i] * gradients[i];
    size += gradients[i] * gradients[i];
  }
  const auto slope = [&](double step) {
    return (network.loss_along(direction, step) - network.loss_along(direction, -step)) / (2 * step);
  };
  const double coarse = slope(2e-3), fine = slope(1e-3), scale = std::sqrt(size) + 1e-3;
  if (std::abs(coarse - fine) > 0.01 * scale) return false;
  CHECK(std::abs(fine - expected) < 0.03 * scale);
  return true;
}

}  // namespace

TEST_CASE("networks of any layers have the gradients of finite differences") {
  int checked = 0, tried = 0;
  for (unsigned seed = 1; seed <= 80; ++seed) {
    const bool of_images = seed % 4 != 0;
    const std::string layers = Architecture(seed).draw(of_images);
    CAPTURE(seed);
    CAPTURE(layers);
    Network network(of_images ? "[5, 6, 4]" : "[7, 4]", layers, seed);
    for (unsigned direction = 0; direction < 3; ++direction, ++tried) {
      checked += check_slope(network, 100 * seed + direction) ? 1 : 0;
    }
  }
  CHECK(2 * checked > tried);
}

}  // namespace mirrortrain
