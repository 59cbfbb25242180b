// Layers that hold others, and the options whose misuse is told before training.
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
