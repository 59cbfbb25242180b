#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ops/elementwise.h"
#include "graph/ops/metric.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

const std::string kConvNet = R"(
model:
  input_shape: [8, 8, 1]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, activation: relu, kernel_regularizer: {l1: 0.25, l2: 0.5}}
    - batch_normalization: {name: norm}
    - max_pooling2d
    - dropout: {rate: 0.25}
    - flatten
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
)";

std::string with(const std::string& text, const std::string& old_part, const std::string& new_part) {
  std::string changed = text;
  return changed.replace(text.find(old_part), old_part.size(), new_part);
}

template <class OpType>
const OpType* find_op(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (const auto* op = dynamic_cast<const OpType*>(node.op.get())) return op;
  }
  return nullptr;
}

bool has_op(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) { return node.op->name() == name; });
}

}  // namespace

TEST_CASE("evaluation has no dropout and uses the moving statistics") {
  const Built built = build_from(kConvNet);
  REQUIRE(built.errors == "");
  CHECK(op_names(built.model.evaluation.graph) == "conv2d batch_norm_inference max_pool2d reshape dense loss metric");
  CHECK(built.model.evaluation.gradients.empty());
  CHECK(built.model.evaluation.assignments.empty());
}

TEST_CASE("training has dropout, batch statistics, gradients and assignments") {
  const Built built = build_from(kConvNet);
  REQUIRE(built.errors == "");
  const ModelGraph& training = built.model.training;
  CHECK(op_names(training.graph).starts_with("conv2d batch_norm max_pool2d dropout reshape dense loss metric "));

  const auto names = variable_names(built.model);
  CHECK(names == std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "norm/gamma", "norm/beta", "norm/moving_mean",
                                          "norm/moving_variance", "dense/kernel", "dense/bias"});
  REQUIRE(training.variables.size() == names.size());
  REQUIRE(training.gradients.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    const bool moving = names[i].find("moving") != std::string::npos;
    CHECK(built.model.variables[i].spec.trainable == !moving);
    CHECK(training.graph.value(training.variables[i]).name == names[i]);
    CHECK((training.gradients[i] == kNoValue) == moving);
    if (!moving) CHECK(training.graph.spec(training.gradients[i]).shape == built.model.variables[i].spec.shape);
  }
  REQUIRE(training.assignments.size() == 2);
  CHECK(training.assignments[0].variable == 4);
  CHECK(training.assignments[1].variable == 5);
  CHECK(training.graph.value(training.assignments[0].value).output == 3);
  CHECK(training.graph.value(training.assignments[1].value).output == 4);
}

TEST_CASE("both graphs take the same inputs") {
  const Built built = build_from(kConvNet);
  REQUIRE(built.errors == "");
  for (const ModelGraph* made : {&built.model.training, &built.model.evaluation}) {
    CHECK(made->graph.spec(made->inputs[0].value) == ValueSpec{DType::kFloat32, {8, 8, 1}, true});
    CHECK(made->graph.spec(made->outputs[0].labels) == ValueSpec{DType::kInt32, {}, true});
    CHECK(made->graph.spec(made->outputs[0].value) == ValueSpec{DType::kFloat32, {3}, true});
    CHECK(made->graph.spec(made->outputs[0].loss) == ValueSpec{DType::kFloat64, {}, false});
    REQUIRE(made->outputs[0].metrics.size() == 1);
    CHECK(made->graph.spec(made->outputs[0].metrics[0]) == ValueSpec{DType::kFloat64, {}, false});
    CHECK(made->variables.size() == built.model.variables.size());
  }
  CHECK(built.model.metric_sum_names() == std::vector<std::string>{"accuracy"});
  CHECK(built.model.outputs[0].largest_label == 2);
}

TEST_CASE("the regularizer holds for the kernel alone, and not where it is frozen") {
  const Built built = build_from(kConvNet);
  REQUIRE(built.errors == "");
  CHECK(built.model.variables[0].l1 == 0.25f);
  CHECK(built.model.variables[0].l2 == 0.5f);
  CHECK(built.model.variables[1].l1 == 0);
  CHECK(built.model.variables[1].l2 == 0);

  const Built frozen = build_from(with(kConvNet, "activation: relu", "activation: relu, trainable: false"));
  REQUIRE(frozen.errors == "");
  CHECK(frozen.model.variables[0].l1 == 0);
  CHECK(frozen.model.variables[0].l2 == 0);
}

TEST_CASE("a frozen layer has no gradients; frozen batch normalization uses its moving statistics") {
  const Built built = build_from(with(kConvNet, "name: norm", "name: norm, trainable: false"));
  REQUIRE(built.errors == "");
  const ModelGraph& training = built.model.training;
  CHECK(has_op(training.graph, "batch_norm_inference"));
  CHECK_FALSE(has_op(training.graph, "batch_norm"));
  CHECK(training.assignments.empty());
  for (std::size_t i = 2; i <= 5; ++i) {
    CHECK_FALSE(built.model.variables[i].spec.trainable);
    CHECK(training.gradients[i] == kNoValue);
  }
  CHECK(training.gradients[0] != kNoValue);
}

TEST_CASE("mixed precision computes in bfloat16 between the input and the loss") {
  const Built built = build_from(kConvNet + "precision: mixed_bfloat16\n");
  REQUIRE(built.errors == "");
  const ModelGraph& evaluation = built.model.evaluation;
  CHECK(op_names(evaluation.graph) == "cast conv2d batch_norm_inference max_pool2d reshape dense cast loss metric");
  for (const Node& node : evaluation.graph.nodes()) {
    const bool is_layer = !node.layer.empty() && node.layer != "loss" && node.layer != "accuracy";
    if (is_layer) CHECK(evaluation.graph.spec(node.outputs[0]).dtype == DType::kBfloat16);
  }
  CHECK(evaluation.graph.spec(evaluation.outputs[0].value).dtype == DType::kFloat32);

  const ModelGraph& training = built.model.training;
  for (const ValueId gradient : training.gradients) {
    if (gradient != kNoValue) CHECK(training.graph.spec(gradient).dtype == DType::kFloat32);
  }
  for (const Assignment& assignment : training.assignments) {
    CHECK(training.graph.spec(assignment.value).dtype == DType::kFloat32);
  }
}

TEST_CASE("two dropout layers draw from different streams") {
  const Built built = build_layers("[4]", "    - dropout: {rate: 0.5}\n    - dropout: {rate: 0.25}\n");
  REQUIRE(built.errors == "");
  const auto& nodes = built.model.training.graph.nodes();
  const auto* first = dynamic_cast<const ops::Dropout*>(nodes[0].op.get());
  const auto* second = dynamic_cast<const ops::Dropout*>(nodes[1].op.get());
  REQUIRE((first && second));
  CHECK(first->rate == 0.5f);
  CHECK(second->rate == 0.25f);
  CHECK(first->stream != second->stream);
}

TEST_CASE("accuracy is the one that fits the loss") {
  struct Case {
    std::string loss;
    int units;
    ops::MetricKind kind;
    float threshold;
  };
  using ops::MetricKind;
  for (const Case& c : {Case{"binary_crossentropy", 3, MetricKind::kBinaryAccuracy, 0.5f},
                        Case{"{type: binary_crossentropy, from_logits: true}", 1, MetricKind::kBinaryAccuracy, 0.0f},
                        Case{"categorical_crossentropy", 3, MetricKind::kCategoricalAccuracy, 0.5f},
                        Case{"sparse_categorical_crossentropy", 3, MetricKind::kSparseCategoricalAccuracy, 0.5f},
                        Case{"mean_squared_error", 1, MetricKind::kBinaryAccuracy, 0.5f},
                        Case{"mean_squared_error", 3, MetricKind::kCategoricalAccuracy, 0.5f}}) {
    CAPTURE(c.loss);
    const Built built = build_from("model: {input_shape: [4], layers: [dense: {units: " + std::to_string(c.units) +
                                   "}]}\nloss: " + c.loss + "\nmetrics: [accuracy]\n");
    REQUIRE(built.errors == "");
    const auto* metric = find_op<ops::Metric>(built.model.evaluation.graph);
    REQUIRE(metric);
    CHECK(metric->kind == c.kind);
    CHECK(metric->threshold == c.threshold);
  }
}

TEST_CASE("metrics keep their order and names") {
  const Built built = build_from(
      "model: {input_shape: [4], layers: [dense: {units: 2}]}\nloss: mean_squared_error\n"
      "metrics: [mean_absolute_error, mean_squared_error]\n");
  REQUIRE(built.errors == "");
  CHECK(built.model.metric_sum_names() == std::vector<std::string>{"mean_absolute_error", "mean_squared_error"});
  const ModelGraph& made = built.model.evaluation;
  const Node& first = made.graph.node(made.graph.value(made.outputs[0].metrics[0]).producer);
  CHECK(dynamic_cast<const ops::Metric&>(*first.op).kind == ops::MetricKind::kMeanAbsoluteError);
}

TEST_CASE("a variable starts from its initializer, the seed and its own name") {
  const Built built =
      build_layers("[4]",
                   "    - dense: {units: 4, kernel_initializer: he_normal, bias_initializer: {constant: {value: 2}}}\n"
                   "    - dense: {units: 4, kernel_initializer: he_normal}\n");
  REQUIRE(built.errors == "");
  const auto values = [&](std::size_t variable, std::uint64_t seed) {
    std::vector<float> elements(static_cast<std::size_t>(built.model.variables[variable].spec.shape.elements()));
    built.model.variables[variable].initialize(elements, seed);
    return elements;
  };
  CHECK(values(0, 1) == values(0, 1));
  CHECK(values(0, 1) != values(0, 2));
  CHECK(values(0, 1) != values(2, 1));
  CHECK(values(1, 1) == std::vector<float>(4, 2.0f));
  CHECK(values(3, 1) == std::vector<float>(4, 0.0f));
}

TEST_CASE("an LSTM's forget gate starts open unless unit_forget_bias is false") {
  const auto bias = [](const std::string& options) {
    const Built built = build_layers("[4, 3]", "    - lstm: {units: 2" + options + "}\n");
    REQUIRE(built.errors == "");
    std::vector<float> elements(8);
    built.model.variables[2].initialize(elements, 1);
    return elements;
  };
  CHECK(bias("") == std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0});
  CHECK(bias(", unit_forget_bias: false") == std::vector<float>(8, 0.0f));
  CHECK(bias(", bias_initializer: {constant: {value: 3}}") == std::vector<float>{3, 3, 1, 1, 3, 3, 3, 3});
}
