// Layers that hold others, and the options whose misuse is reported before training.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/ops/elementwise.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

std::string line(const std::string& layer) { return "    - " + layer + "\n"; }

std::vector<std::string> variables_of(const Model& model) {
  std::vector<std::string> names;
  for (const ModelVariable& variable : model.variables) names.push_back(variable.spec.name);
  return names;
}

std::string error_of(const std::string& shape, const std::string& layer) {
  return build_layers(shape, line(layer)).errors;
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the weights of both directions are those of two layers") {
  const Built built = build_layers("[5, 3]", line("bidirectional: {layer: {lstm: {units: 2}}, name: both}"));
  REQUIRE(built.errors == "");
  CHECK(variables_of(built.model) == std::vector<std::string>{"both/forward/kernel", "both/forward/recurrent_kernel",
                                                              "both/forward/bias", "both/backward/kernel",
                                                              "both/backward/recurrent_kernel", "both/backward/bias"});
}

TEST_CASE("a layer applied to each step has one set of weights, and draws at each step anew") {
  const Built built =
      build_layers("[4, 6]", line("time_distributed: {layer: {reshape: {target_shape: [3, 2]}}, name: cut}") +
                                 line("time_distributed: {layer: {conv1d: {filters: 2, kernel_size: 2}}, name: each}") +
                                 line("time_distributed: {layer: {dropout: {rate: 0.5}}, name: dropped}"));
  REQUIRE(built.errors == "");
  CHECK(variables_of(built.model) == std::vector<std::string>{"each/kernel", "each/bias"});
  std::set<std::uint32_t> streams;
  for (const Node& node : built.model.training.graph.nodes()) {
    if (const auto* dropout = dynamic_cast<const ops::Dropout*>(node.op.get())) {
      if (node.outputs[0] != kNoValue) streams.insert(dropout->stream);
    }
  }
  CHECK(streams.size() == 4);
}

TEST_CASE("what a wrapper's layer cannot have is an error at it") {
  CHECK(has(error_of("[5, 3]", "bidirectional: {layer: {lstm: {units: 2, inputs: [input]}}}"),
            "move `inputs` beside `layer`"));
  CHECK(has(error_of("[5, 3]", "bidirectional: {layer: {lstm: {units: 2, trainable: false}}}"), "move `trainable`"));
  CHECK(has(error_of("[5, 3]", "bidirectional: {layer: {dense: {units: 2}}}"), "recurrent layer"));
  CHECK(has(error_of("[5, 3]", "bidirectional: {layer: {lstm: {units: 2}}, backward_layer: {lstm: {units: 2}}}"),
            "give one of them go_backwards: true"));
  CHECK(has(error_of("[5, 3]",
                     "bidirectional: {layer: {lstm: {units: 2}}, backward_layer: {gru: {units: 2, go_backwards: "
                     "true, return_sequences: true}}}"),
            "return_sequences differs"));
  CHECK(has(error_of("[5, 3]", "time_distributed: {layer: {add: {inputs: [input, input]}}}"),
            "expected a layer of one input"));
  CHECK(has(error_of("[5, 3]", "time_distributed: {layer: {dense: {units: 2, activity_regularizer: {l2: 1}}}}"),
            "move `activity_regularizer`"));
  CHECK(has(error_of("[5]", "time_distributed: {layer: {dense: {units: 2}}}"), "expected sequences [steps, ...]"));
}

TEST_CASE("windows, edges and shares that do not fit are refused with the shape") {
  CHECK(
      has(error_of("[4, 3]", "max_pooling1d: {pool_size: 5}"), "a window of 5 does not fit into the steps of [4, 3]"));
  CHECK(has(error_of("[4, 6, 3]", "average_pooling2d: {pool_size: [3, 7]}"),
            "a window of 7 does not fit into the width"));
  CHECK(has(error_of("[4, 6, 3]", "max_pooling3d"), "expected volumes [depth, height, width, channels]"));
  CHECK(has(error_of("[2, 4, 6, 3]", "cropping3d: {cropping: [[1, 1], [0, 0], [0, 0]]}"),
            "expected a depth of more than the 1 + 1"));
  CHECK(has(error_of("[4, 3]", "dropout: {rate: 0.5, noise_shape: [null, 1]}"), "expected a noise_shape of 3 extents"));
  CHECK(
      has(error_of("[4, 3]", "dropout: {rate: 0.5, noise_shape: [null, 2, 3]}"), "expected 4, 1 or null as extent 1"));
  CHECK(has(error_of("[4, 3]", "dropout: {rate: 0.5, noise_shape: [1, 4, 3]}"), "expected null as the first extent"));
  CHECK(has(error_of("[4, 3]", "layer_normalization: {axis: [1, -2]}"), "two are one"));
  CHECK(has(error_of("[4, 3]", "softmax: {axis: 3}"), "expected an axis from 1 to 2"));
  CHECK(has(error_of("[4, 6]",
                     "group_query_attention: {head_dim: 3, num_query_heads: 2, num_key_value_heads: 1, "
                     "rope_max_wavelength: 100}"),
            "expected heads of even size"));
  CHECK(has(error_of("[4, 6]", "group_query_attention: {head_dim: 2, num_query_heads: 3, num_key_value_heads: 2}"),
            "expected a divisor of num_query_heads"));
  CHECK(
      has(error_of("[4, 6]", "conv1d_transpose: {filters: 2, kernel_size: 2, padding: causal}"), "no causal padding"));
}

TEST_CASE("noise is drawn in training alone") {
  for (const char* layer : {"gaussian_noise: {stddev: 0.1}", "gaussian_dropout: {rate: 0.3}",
                            "alpha_dropout: {rate: 0.3}", "spatial_dropout1d: {rate: 0.3}",
                            "dropout: {rate: 0.3, noise_shape: [null, 1, null]}", "lstm: {units: 2, dropout: 0.3}"}) {
    CAPTURE(layer);
    const Built built = build_layers("[4, 3]", line(layer));
    REQUIRE(built.errors == "");
    const auto draws = [](const Graph& graph) {
      return std::ranges::any_of(graph.nodes(), [](const Node& node) {
        return node.op->name() == "dropout" || node.op->name() == "random_normal";
      });
    };
    CHECK(draws(built.model.training.graph));
    CHECK_FALSE(draws(built.model.evaluation.graph));
  }
}

TEST_CASE("a normalized layer has its own weights and the vector of their spectrum") {
  const Built built = build_layers(
      "[6, 6, 3]",
      line("spectral_normalization: {layer: {conv2d: {filters: 4, kernel_size: 2}}, power_iterations: 3}"));
  REQUIRE(built.errors == "");
  CHECK(variables_of(built.model) == std::vector<std::string>{"spectral_normalization/kernel",
                                                              "spectral_normalization/bias",
                                                              "spectral_normalization/vector_u"});
  REQUIRE(built.model.variables[0].spectrum.has_value());
  CHECK(built.model.variables[0].spectrum->vector == 2);
  CHECK(built.model.variables[0].spectrum->iterations == 3);
  CHECK_FALSE(built.model.variables[2].spec.trainable);
}

TEST_CASE("layers without one kernel are not normalized") {
  const auto error = [](const std::string& shape, const std::string& layer) {
    return error_of(shape, "spectral_normalization: {layer: {" + layer + "}}");
  };
  CHECK(has(error("[4, 3]", "lstm: {units: 2}"), "expected a layer with one kernel or table"));
  CHECK(has(error("[4, 4, 3]", "separable_conv2d: {filters: 2, kernel_size: 2}"), "found separable_conv2d"));
  CHECK(has(error("[4]", "dense: {units: 2, lora_rank: 1}"), "take one of the two out"));
  CHECK(has(error("[4]", "dense: {units: 2, trainable: false}"), "move `trainable` beside `layer`"));
  CHECK(has(error("[4]", "dropout: {rate: 0.5}"), "found dropout"));
}

TEST_CASE("low ranks freeze the weight that they are added to") {
  const Built built = build_layers("[6]", line("dense: {units: 4, lora_rank: 2, lora_alpha: 8, name: d}"));
  REQUIRE(built.errors == "");
  CHECK(variables_of(built.model) ==
        std::vector<std::string>{"d/kernel", "d/lora_kernel_a", "d/lora_kernel_b", "d/bias"});
  CHECK_FALSE(built.model.variables[0].spec.trainable);
  CHECK(built.model.variables[1].spec.shape == Shape{6, 2});
  CHECK(built.model.variables[2].spec.shape == Shape{2, 4});
  CHECK(has(error_of("[6]", "dense: {units: 4, lora_alpha: 8}"), "has no effect without lora_rank"));
  CHECK(has(error_of("[6]", "dense: {units: 4, lora_rank: 2, kernel_constraint: non_neg}"), "the weight is frozen"));
}

TEST_CASE("what new options cannot be is reported") {
  CHECK(has(error_of("[4, 3]", "batch_normalization: {renorm_clipping: {rmax: 2}}"),
            "has no effect without `renorm: true`"));
  CHECK(has(error_of("[4, 3]", "batch_normalization: {renorm: true, renorm_clipping: {rmin: 3, rmax: 2}}"),
            "expected at least rmin"));
  CHECK(has(error_of("[4, 3]", "batch_normalization: {center: false, beta_regularizer: {l2: 1}}"), "there is no beta"));
  CHECK(has(error_of("[4, 3]", "layer_normalization: {scale: false, gamma_constraint: non_neg}"), "there is no gamma"));
  CHECK(
      has(error_of("[40, 1]", "stft_spectrogram: {frame_length: 8, frame_step: 9}"), "expected at most frame_length"));
  CHECK(
      has(error_of("[40, 1]", "stft_spectrogram: {frame_length: 8, fft_length: 7}"), "expected at least frame_length"));
  CHECK(has(error_of("[40, 1]", "mel_spectrogram: {fft_length: 16}"), "`- flatten` leaves the channel out"));
  CHECK(has(error_of("[8]", "mel_spectrogram: {fft_length: 16}"), "expected signals of more than 8 steps"));
  CHECK(has(error_of("[80]", "mel_spectrogram: {fft_length: 16, window: boxcar}"), "expected hann, hamming or null"));
  CHECK(
      has(error_of("[4, 3]", "multi_head_attention: {num_heads: 1, key_dim: 2, sliding_window: 0}"), "sliding_window"));
}

TEST_CASE("an embedding is called in reverse, and nothing else is") {
  const std::string words = line("reversible_embedding: {input_dim: 9, output_dim: 4, name: words}");
  const Built built = build_layers("[5]", words + line("reuse: {layer: words, reverse: true, name: logits}"));
  REQUIRE(built.errors == "");
  CHECK(variables_of(built.model) == std::vector<std::string>{"words/embeddings"});
  CHECK(built.model.layers.back().output_shape == Shape{5, 9});
  CHECK(
      has(build_layers("[5]", words + line("dense: {units: 3}") + line("reuse: {layer: words, reverse: true}")).errors,
          "expected vectors of output_dim, 4"));
  CHECK(has(build_layers("[5]", line("dense: {units: 5, name: d}") + line("reuse: {layer: d, reverse: true}")).errors,
            "expected a reversible_embedding, which can be called in reverse, found dense"));
  CHECK(has(error_of("[5]", "reversible_embedding: {input_dim: 9, output_dim: 4, tie_weights: false}"),
            "is never called so; add - reuse: {layer: reversible_embedding"));
}
