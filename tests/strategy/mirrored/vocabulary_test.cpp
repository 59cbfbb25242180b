// Random models from the whole vocabulary: on several replicas, in uneven parts, and on a mesh they train as on one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "error_text.h"
#include "model/layers.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// The axes of what a layer reads, channels included; none: any.
enum Input { kVector = 1, kSequence, kImage, kVolume, kAny = 0 };

/// A layer with some of the options that it may be drawn with. IN stands for what it reads, N for a number that differs
/// from use to use.
struct Drawable {
  std::string name;
  Input input;
  std::vector<std::string> options = {""};
  std::string before = {};  ///< layers that make other inputs
};

const std::vector<Drawable> kDrawables = {
    {"dense",
     kVector,
     {"units: 5, activation: tanh", "units: 6, use_bias: false, kernel_regularizer: {l2: 0.01}",
      "units: 4, activity_regularizer: {l1: 0.01}, lora_rank: 2"}},
    {"einsum_dense",
     kSequence,
     {"equation: \"abc,cd->abd\", output_shape: [null, 3], bias_axes: d",
      "equation: \"abc,bcd->ad\", output_shape: 5"}},
    {"conv1d", kSequence, {"filters: 3, kernel_size: 2, padding: causal", "filters: 4, kernel_size: 3, strides: 2"}},
    {"conv2d", kImage, {"filters: 3, kernel_size: 2", "filters: 4, kernel_size: 3, groups: 2, padding: same"}},
    {"conv3d", kVolume, {"filters: 3, kernel_size: 2", "filters: 2, kernel_size: 3, padding: same, strides: 2"}},
    {"conv1d_transpose", kSequence, {"filters: 3, kernel_size: 2, strides: 2"}},
    {"conv2d_transpose", kImage, {"filters: 3, kernel_size: 3, strides: 2, padding: same"}},
    {"conv3d_transpose", kVolume, {"filters: 2, kernel_size: 2, strides: 2"}},
    {"depthwise_conv1d", kSequence, {"kernel_size: 2, depth_multiplier: 2"}},
    {"depthwise_conv2d", kImage, {"kernel_size: 3, padding: same"}},
    {"separable_conv1d", kSequence, {"filters: 3, kernel_size: 2"}},
    {"separable_conv2d", kImage, {"filters: 3, kernel_size: 2, depth_multiplier: 2"}},
    {"conv_lstm1d", kImage, {"filters: 2, kernel_size: 2, padding: same, return_sequences: true"}},
    {"conv_lstm2d", kVolume, {"filters: 2, kernel_size: 2, padding: same, recurrent_dropout: 0.2"}},
    {"simple_rnn", kSequence, {"units: 4", "units: 3, return_sequences: true, go_backwards: true, dropout: 0.2"}},
    {"lstm", kSequence, {"units: 3", "units: 4, return_sequences: true, recurrent_dropout: 0.2"}},
    {"gru", kSequence, {"units: 3", "units: 4, reset_after: false, return_sequences: true"}},
    {"bidirectional",
     kSequence,
     {"layer: {lstm: {units: 3, return_sequences: true}}", "layer: {gru: {units: 3}}, merge_mode: sum"}},
    {"time_distributed", kSequence, {"layer: {dense: {units: 3, activation: relu}}"}},
    {"spectral_normalization", kVector, {"layer: {dense: {units: 5}}"}},
    {"multi_head_attention",
     kSequence,
     {"num_heads: 2, key_dim: 3, inputs: [IN, IN]", "num_heads: 2, key_dim: 2, use_causal_mask: true, dropout: 0.2"}},
    {"group_query_attention", kSequence, {"head_dim: 2, num_query_heads: 4, num_key_value_heads: 2, inputs: [IN, IN]"}},
    {"attention",
     kSequence,
     {"inputs: [IN, bN], use_scale: true", "inputs: [IN, bN], score_mode: concat"},
     "{dense: {units: 4, inputs: [IN], name: bN}}, "},
    {"additive_attention", kSequence, {"inputs: [IN, bN]"}, "{dense: {units: 4, inputs: [IN], name: bN}}, "},
    {"batch_normalization", kAny, {"synchronized: true", "synchronized: true, scale: false, momentum: 0.5"}},
    {"layer_normalization", kAny, {"", "epsilon: 0.01, center: false"}},
    {"group_normalization", kImage, {"groups: 2"}},
    {"rms_normalization", kAny},
    {"unit_normalization", kAny},
    {"max_pooling1d", kSequence},
    {"max_pooling2d", kImage, {"", "pool_size: 3, strides: 1, padding: same"}},
    {"max_pooling3d", kVolume},
    {"average_pooling1d", kSequence},
    {"average_pooling2d", kImage, {"pool_size: 3, padding: same"}},
    {"average_pooling3d", kVolume},
    {"adaptive_max_pooling1d", kSequence, {"output_size: 4"}},
    {"adaptive_max_pooling2d", kImage, {"output_size: [4, 5]"}},
    {"adaptive_max_pooling3d", kVolume, {"output_size: 3"}},
    {"adaptive_average_pooling1d", kSequence, {"output_size: 4"}},
    {"adaptive_average_pooling2d", kImage, {"output_size: [4, 5]"}},
    {"adaptive_average_pooling3d", kVolume, {"output_size: 3"}},
    {"global_average_pooling1d", kSequence},
    {"global_average_pooling2d", kImage, {"", "keepdims: true"}},
    {"global_average_pooling3d", kVolume},
    {"global_max_pooling1d", kSequence},
    {"global_max_pooling2d", kImage},
    {"global_max_pooling3d", kVolume},
    {"zero_padding1d", kSequence},
    {"zero_padding2d", kImage, {"padding: [[1, 0], [0, 2]]"}},
    {"zero_padding3d", kVolume},
    {"cropping1d", kSequence},
    {"cropping2d", kImage, {"cropping: 1"}},
    {"cropping3d", kVolume},
    {"upsampling1d", kSequence},
    {"upsampling2d", kImage, {"", "interpolation: bilinear"}},
    {"upsampling3d", kVolume},
    {"flatten", kAny},
    {"reshape", kSequence, {"target_shape: [3, 8]"}},
    {"permute", kSequence, {"dims: [2, 1]"}},
    {"flip", kSequence, {"axis: 1"}},
    {"repeat_vector", kVector, {"n: 3"}},
    {"masking", kSequence},
    {"class_token", kSequence},
    {"position_embedding", kSequence, {"sequence_length: 6"}},
    {"activation", kAny, {"activation: gelu", "activation: mish", "activation: softmax", "activation: sparsemax"}},
    {"relu", kAny, {"", "max_value: 0.5, negative_slope: 0.1"}},
    {"leaky_relu", kAny},
    {"elu", kAny},
    {"prelu", kAny},
    {"softmax", kAny},
    {"identity", kAny},
    {"activity_regularization", kAny, {"l1: 0.01, l2: 0.01"}},
    {"dropout", kAny, {"rate: 0.3"}},
    {"spatial_dropout1d", kSequence, {"rate: 0.3"}},
    {"spatial_dropout2d", kImage, {"rate: 0.3"}},
    {"spatial_dropout3d", kVolume, {"rate: 0.3"}},
    {"gaussian_dropout", kAny, {"rate: 0.3"}},
    {"gaussian_noise", kAny, {"stddev: 0.1"}},
    {"alpha_dropout", kAny, {"rate: 0.3"}},
    {"add", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"subtract", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"multiply", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"average", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"maximum", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"minimum", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"concatenate", kAny, {"inputs: [IN, bN]"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"dot", kSequence, {"inputs: [IN, bN], axes: 2"}, "{activation: {activation: sigmoid, inputs: [IN], name: bN}}, "},
    {"expression", kSequence, {"formula: \"x * sigmoid(w) + mean(x, axis=0)\", parameters: {w: {shape: [4]}}"}},
    {"stft_spectrogram", kSequence, {"frame_length: 4, frame_step: 2, mode: magnitude, expand_dims: false"}},
};

/// Layers of whole numbers, of the layers before, and a spectrum whose logarithms amplify rounding have tests
/// elsewhere.
const std::set<std::string> kElsewhere = {"embedding", "reversible_embedding", "reuse", "mel_spectrogram",
                                          "conv_lstm3d"};

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// A model of some drawables, one after the other, each on an input of its own shape.
class Drawn {
 public:
  explicit Drawn(unsigned seed) : bits_(seed) {}

  void add(const Drawable& drawn) {
    static const std::vector<std::pair<int, std::string>> kShapes = {
        {12, "[12]"}, {24, "[6, 4]"}, {72, "[6, 6, 2]"}, {128, "[4, 4, 4, 2]"}};
    const std::size_t axes = drawn.input == kAny ? 1 + below(kShapes.size()) : static_cast<std::size_t>(drawn.input);
    const auto& [elements, shape] = kShapes[axes - 1];
    const std::string number = std::to_string(++count_), in = "in" + number;
    layers_ += fmt::format(
        "{{dense: {{units: {}, activation: tanh}}}}, {{reshape: {{target_shape: {}, name: {}}}}}, {}{{{}: {{{}}}}}, "
        "{{flatten: {{}}}}, ",
        elements, shape, in, with(with(drawn.before, "IN", in), "bN", "b" + number), drawn.name,
        with(with(drawn.options[below(drawn.options.size())], "IN", in), "bN", "b" + number));
  }
  std::string layers() const { return layers_ + "{dense: {units: 3}}"; }

 private:
  std::size_t below(std::size_t end) { return bits_() % end; }

  std::mt19937 bits_;
  std::string layers_;
  int count_ = 0;
};

struct DrawnTraining {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> variables;
};

DrawnTraining train_drawn(const std::string& layers, const std::string& strategy) {
  Training training(kMlp,
                    {"optimizer={type: sgd, learning_rate: 0.05}", "data.train.shape=[5]", "model.input_shape=[5]",
                     "data.global_batch_size=7", fmt::format("model.layers=[{}]", layers), "strategy=" + strategy});
  DrawnTraining result{training.steps(5), training.variables()};
  std::erase_if(result.variables, [](const auto& variable) {  // whose gradients are rounding alone
    return std::ranges::all_of(variable.second, [](float element) { return std::abs(element) < 1e-6f; });
  });
  return result;
}

double difference_of(const DrawnTraining& a, const DrawnTraining& b) {
  double worst = difference(a.variables, b.variables);
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    worst = std::max(worst, std::abs(a.losses[i] - b.losses[i]) / std::abs(b.losses[i]));
  }
  return worst;
}

TEST_CASE("models drawn from every layer train on three replicas and on a mesh as on one") {
  std::vector<const Drawable*> order;
  for (int round = 0; round < 2; ++round) {
    std::vector<const Drawable*> all;
    for (const Drawable& one : kDrawables) all.push_back(&one);
    std::ranges::shuffle(all, std::mt19937(static_cast<unsigned>(round)));
    order.insert(order.end(), all.begin(), all.end());
  }
  int divided = 0;
  for (std::size_t i = 0; i + 2 <= order.size(); i += 2) {
    Drawn drawn(static_cast<unsigned>(i));
    drawn.add(*order[i]);
    drawn.add(*order[i + 1]);
    const std::string layers = drawn.layers();
    CAPTURE(layers);
    const DrawnTraining one = train_drawn(layers, "{type: one_device, devices: [cpu:0]}");
    CHECK(std::ranges::all_of(one.losses, [](double loss) { return std::isfinite(loss); }));
    CHECK(difference_of(train_drawn(layers, "{type: mirrored, devices: [cpu:0, cpu:0, cpu:1]}"), one) < 1e-4);
    DrawnTraining on_mesh;
    const std::string error = error_text(
        [&] { on_mesh = train_drawn(layers, "{type: mirrored, devices: [cpu:0, cpu:1], mesh: {data: 2, model: 2}}"); });
    if (error != "no error") {
      CHECK_MESSAGE(contains(error, "no variable is left"), error);
      continue;
    }
    ++divided;
    CHECK(difference_of(on_mesh, one) < 1e-4);
  }
  CHECK(divided > 60);
}

TEST_CASE("every layer is among those that are drawn") {
  std::set<std::string> known = kElsewhere;
  for (const Drawable& one : kDrawables) known.insert(one.name);
  for (const config::Name& name : config::names_of_choice<Layer>()) CHECK_MESSAGE(known.contains(name.text), name.text);
}

}  // namespace
}  // namespace mirrortrain
