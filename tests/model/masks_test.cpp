#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/ops/attention.h"
#include "graph/ops/collective.h"
#include "graph/ops/mask.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

const std::string kWords = "    - embedding: {input_dim: 9, output_dim: 4, mask_zero: true, name: words}\n";
const std::string kPlain = "    - embedding: {input_dim: 9, output_dim: 4, inputs: [input], name: plain}\n";

std::string line(const std::string& layer) { return "    - " + layer + "\n"; }

Built on_words(const std::string& layers) { return build_layers("[6]", kWords + layers); }

const Node* node_of(const Graph& graph, std::string_view op) {
  const auto found = std::ranges::find_if(graph.nodes(), [&](const Node& node) { return node.op->name() == op; });
  return found == graph.nodes().end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("the mask of padding is carried to the loss by every layer that carries masks in Keras") {
  for (const char* layer : {"dense: {units: 3}",
                            "dropout: {rate: 0.1}",
                            "activation: {activation: tanh}",
                            "prelu",
                            "layer_normalization",
                            "group_normalization: {groups: 2}",
                            "batch_normalization",
                            "batch_normalization: {synchronized: true}",
                            "batch_normalization: {trainable: false}",
                            "position_embedding: {sequence_length: 6}",
                            "multi_head_attention: {num_heads: 2, key_dim: 3}",
                            "lstm: {units: 3, return_sequences: true}",
                            "gru: {units: 3, return_sequences: true}",
                            "simple_rnn: {units: 3, return_sequences: true}",
                            "bidirectional: {layer: {lstm: {units: 3, return_sequences: true}}}",
                            "time_distributed: {layer: {dense: {units: 2}}}",
                            "time_distributed: {layer: {expression: {formula: \"x * 2\"}}}",
                            "group_query_attention: {head_dim: 2, num_query_heads: 2, num_key_value_heads: 1}",
                            "relu",
                            "leaky_relu",
                            "elu",
                            "identity",
                            "activity_regularization: {l1: 0.1}",
                            "unit_normalization",
                            "gaussian_noise: {stddev: 0.1}",
                            "gaussian_dropout: {rate: 0.1}",
                            "alpha_dropout: {rate: 0.1}",
                            "spatial_dropout1d: {rate: 0.1}"}) {
    CAPTURE(layer);
    const Built built = on_words(line(layer));
    CHECK(built.errors == "");
    CHECK(built.warnings.empty());
    CHECK(built.model.is_masked());
    for (const ModelGraph* graph : {&built.model.training, &built.model.evaluation}) {
      const Node* const loss = node_of(graph->graph, "loss");
      REQUIRE(loss != nullptr);
      CHECK(loss->inputs.at(3) == node_of(graph->graph, "padding_mask")->outputs[0]);
    }
  }
}

TEST_CASE("layers that take the mask off as Keras does say nothing") {
  for (const char* layer : {"lstm: {units: 3}", "gru: {units: 3, go_backwards: true}", "global_average_pooling1d"}) {
    CAPTURE(layer);
    const Built built = on_words(line(layer));
    CHECK(built.errors == "");
    CHECK(built.warnings.empty());
    CHECK_FALSE(built.model.is_masked());
  }
}

TEST_CASE("a formula ends a mask, in silence where it is written for that") {
  const Built built = on_words(line("expression: {formula: x}"));
  CHECK(built.errors == "");
  CHECK(built.warnings.empty());
  CHECK_FALSE(built.model.is_masked());
  const Built doubled = on_words(line("expression: {formula: 2 * x}"));
  CHECK_FALSE(doubled.model.is_masked());
  REQUIRE(doubled.warnings.size() == 1);
  CHECK(doubled.warnings[0].find("the mask of the padding ends here, as a formula carries none on") !=
        std::string::npos);
}

TEST_CASE("a mask that ends at a layer is warned of at its line") {
  for (const char* layer : {"flatten", "reshape: {target_shape: [3, 8]}", "permute: {dims: [2, 1]}",
                            "conv1d: {filters: 3, kernel_size: 2}"}) {
    CAPTURE(layer);
    const Built built = on_words(line(layer));
    CHECK(built.errors == "");
    CHECK_FALSE(built.model.is_masked());
    REQUIRE(built.warnings.size() == 1);
    const std::string name = std::string(layer).substr(0, std::string_view(layer).find(':'));
    CHECK(built.warnings[0].starts_with(fmt::format(
        "a.yaml:5:7: model.layers[1].{0}: the mask of the padding ends here, as {0} carries none on", name)));
  }
}

TEST_CASE("a sequence that is reversed has its mask reversed with it") {
  const std::string backwards = line("lstm: {units: 2, return_sequences: true, go_backwards: true}");
  const Built once = on_words(backwards), twice = on_words(backwards + line("flip"));
  const Built features = on_words(line("flip: {axis: -1}"));
  for (const Built* built : {&once, &twice, &features}) {
    CHECK(built->errors == "");
    CHECK(built->warnings.empty());
    REQUIRE(built->model.is_masked());
  }
  const auto flips = [](const Built& built) {
    const Graph& graph = built.model.evaluation.graph;
    int count = 0;
    for (ValueId mask = built.model.evaluation.outputs[0].mask; mask != node_of(graph, "padding_mask")->outputs[0];
         ++count) {
      REQUIRE(graph.node(graph.value(mask).producer).op->name() == "flip");
      mask = graph.node(graph.value(mask).producer).inputs[0];
    }
    return count;
  };
  CHECK(flips(once) == 1);
  CHECK(flips(twice) == 2);
  CHECK(flips(features) == 0);
}

TEST_CASE("merged inputs carry a mask where all of them do") {
  const std::string other = line("dense: {units: 4, inputs: [words], name: other}");
  for (const char* merge : {"add", "subtract", "multiply", "average", "maximum", "concatenate"}) {
    CAPTURE(merge);
    const Built both = on_words(other + line(fmt::format("{}: {{inputs: [words, other]}}", merge)));
    CHECK(both.errors == "");
    CHECK(both.warnings.empty());
    CHECK(both.model.is_masked());
    const Built one = build_layers("[6]", kWords + kPlain + line(fmt::format("{}: {{inputs: [words, plain]}}", merge)));
    CHECK(one.errors == "");
    CHECK_FALSE(one.model.is_masked());
    REQUIRE(one.warnings.size() == 1);
    CHECK(one.warnings[0].find(" the input of shape [6, 4] of 'plain' carries none") != std::string::npos);
  }
}

TEST_CASE("sequences joined one after the other have masks of both, of ones where there is none") {
  const Built built = build_layers("[6]", kWords + kPlain + line("concatenate: {axis: 1, inputs: [words, plain]}"));
  CHECK(built.errors == "");
  CHECK(built.warnings.empty());
  CHECK(built.model.is_masked());
  const Graph& graph = built.model.training.graph;
  CHECK(node_of(graph, "full_mask") != nullptr);
  CHECK(graph.spec(node_of(graph, "loss")->inputs[3]).shape == Shape{12});
}

TEST_CASE("attention takes the masks of query and value, and without dropout a blind step attends to all") {
  const Built to_itself = on_words(line("multi_head_attention: {num_heads: 1, key_dim: 3, dropout: 0.5}"));
  const Node& node = *node_of(to_itself.model.evaluation.graph, "attention");
  CHECK(node.inputs.at(3) == node.inputs.at(4));
  CHECK(node.inputs[3] != kNoValue);
  CHECK_FALSE(dynamic_cast<const ops::Attention&>(*node.op).blind_sees_all);
  const Built to_words = build_layers(
      "[6]", kWords + kPlain + line("multi_head_attention: {num_heads: 1, key_dim: 3, inputs: [plain, words]}"));
  CHECK(to_words.errors == "");
  CHECK_FALSE(to_words.model.is_masked());
  const Node& other = *node_of(to_words.model.training.graph, "attention");
  CHECK(other.inputs.at(3) == kNoValue);
  CHECK(other.inputs.at(4) != kNoValue);
  CHECK(dynamic_cast<const ops::Attention&>(*other.op).blind_sees_all);
}

TEST_CASE("attention can hand the mask of its query on unused") {
  const Built built = on_words(line("multi_head_attention: {num_heads: 1, key_dim: 3, use_query_mask: false}"));
  CHECK(built.errors == "");
  CHECK(built.warnings.empty());
  CHECK(built.model.is_masked());
  const Node& node = *node_of(built.model.training.graph, "attention");
  CHECK(node.inputs.at(3) == kNoValue);
  CHECK(node.inputs.at(4) != kNoValue);
  const Built idle =
      build_layers("[6]", kPlain + line("multi_head_attention: {num_heads: 1, key_dim: 3, use_query_mask: false}"));
  REQUIRE(idle.warnings.size() == 1);
  CHECK(idle.warnings[0].find("use_query_mask: false changes nothing") != std::string::npos);
}

TEST_CASE("the gradients of a masked loss are divided by what counts in the global batch") {
  const Built built = on_words(line("dense: {units: 1}"));
  const ModelGraph& training = built.model.training;
  const std::vector<ops::PlacedCollective> collectives = ops::collectives_of(training.graph);
  REQUIRE(collectives.size() == 1);
  CHECK(node_of(training.graph, "loss")->inputs.at(4) == collectives[0].outputs[0]);
  CHECK(ops::collectives_of(built.model.evaluation.graph).empty());
  CHECK(ops::collectives_of(build_layers("[6]", kPlain + line("dense: {units: 1}")).model.training.graph).empty());
}

TEST_CASE("what has no meaning with a mask is refused") {
  CHECK(
      on_words(line("softmax")).errors.starts_with("a.yaml:5:7: model.layers[1].softmax: a softmax layer would leave"));
  const Built built = build_from("model:\n  input_shape: [6]\n  layers:\n" + kWords +
                                 "loss: {type: formula, formula: \"mean(y_pred)\"}\n");
  CHECK_MESSAGE(built.errors.starts_with(
                    "a.yaml:5:1: loss: a formula gives one number for an example, so that it cannot leave padding out"),
                built.errors);
}

TEST_CASE("a mean over what a mask leaves is made of two sums") {
  const Built built = build_from("model:\n  input_shape: [6]\n  layers:\n" + kWords +
                                 "loss: mean_squared_error\nmetrics: [mean_absolute_error]\n");
  REQUIRE(built.errors == "");
  const ModelMetric& metric = built.model.outputs[0].metrics.at(0);
  CHECK(metric.sums == 2);
  const double sums[] = {3, 4}, none[] = {0, 0};
  CHECK(metric.value(sums, 100) == 0.75);
  CHECK(metric.value(none, 100) == 0);
}
