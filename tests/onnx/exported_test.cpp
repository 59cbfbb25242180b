#include "onnx/exported.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/ops/batch_row.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/pool2d.h"
#include "graph/ops/upsample2d.h"

namespace mirrortrain::onnx {
namespace {

/// A network that is put together by hand.
struct Network {
  ModelGraph model;
  StoredTensors weights;
  ValueId x;

  explicit Network(const Shape& shape) : x(model.graph.input("input", {DType::kFloat32, shape, true})) {
    model.inputs.push_back({x});
  }
  ValueId weight(const std::string& name, const Shape& shape) {
    const ValueId id = model.graph.variable({name, shape});
    model.variables.push_back(id);
    weights[name] = {DType::kFloat32, shape, std::vector<std::byte>(static_cast<std::size_t>(shape.elements()) * 4)};
    return id;
  }
  Graph exported(ValueId output, std::vector<std::string>& refused, std::vector<data::PreprocessingStep> steps = {}) {
    ModelOutput of_model;
    of_model.value = output;
    model.outputs = {of_model};
    Exported all;
    all.name = "network";
    all.model = &model;
    all.weights = &weights;
    all.inputs = {{"input", model.graph.spec(x).shape, std::move(steps)}};
    all.outputs = {{"y"}};
    return to_graph(all, refused);
  }
};

std::int64_t count(const Graph& graph, const std::string& op_type, const std::string& input = "") {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    return node.op_type == op_type && (input.empty() || std::ranges::count(node.inputs, input) > 0);
  });
}

}  // namespace

TEST_CASE("between convolutions, and what has no order of axes, nothing is transposed") {
  Network network({8, 8, 3});
  mirrortrain::Graph& graph = network.model.graph;
  const ValueId first = network.weight("a", {3, 3, 3, 4}), second = network.weight("b", {1, 1, 4, 4});
  ValueId y = graph.apply_one(ops::Conv2d({}, ops::ActivationKind::kRelu), {network.x, first, kNoValue});
  y = graph.apply_one(ops::Activation(ops::ActivationKind::kSilu), {y});
  y = graph.apply_one(ops::MaxPool2d({}), {y});
  y = graph.apply_one(ops::Upsample2d({2, 2}, ops::Interpolation::kNearest), {y});
  y = graph.apply_one(ops::Conv2d({}), {y, second, kNoValue});
  y = graph.apply_one(ops::GlobalAveragePool2d(), {y});
  std::vector<std::string> refused;
  const Graph made = network.exported(y, refused);
  CHECK(refused.empty());
  CHECK(count(made, "Transpose", "input") == 1);
  CHECK(count(made, "Transpose") == 3);  // and both kernels
}

TEST_CASE("every op without operators is refused at once, by its layer") {
  Network network({4});
  mirrortrain::Graph& graph = network.model.graph;
  graph.set_layer("first");
  ValueId y = graph.apply_one(ops::BatchRow(4), {network.x});
  graph.set_layer("second");
  y = graph.apply_one(ops::Dropout(0.5f, 1), {y});
  graph.set_layer("third");
  y = graph.apply_one(ops::Dense(), {y, network.weight("kernel", {4, 2}), kNoValue});
  std::vector<std::string> refused;
  network.exported(y, refused);
  CHECK(refused == std::vector<std::string>{"layer 'first': ONNX has no operators for 'batch_row'",
                                            "layer 'second': ONNX has no operators for 'dropout'"});
}

TEST_CASE("what only training computes is not in the file") {
  Network network({4});
  mirrortrain::Graph& graph = network.model.graph;
  const ValueId y = graph.apply_one(ops::Dense(), {network.x, network.weight("kernel", {4, 2}), kNoValue});
  graph.apply_one(ops::Dropout(0.5f, 1), {y});
  network.weight("unread", {3});
  std::vector<std::string> refused;
  const Graph made = network.exported(y, refused);
  CHECK(refused.empty());
  CHECK(made.nodes.size() == 1);
  REQUIRE(made.initializers.size() == 1);
  CHECK(made.initializers[0].first == "kernel");
  CHECK(made.initializers[0].second.dims == Ints{4, 2});
}

TEST_CASE("rescalings and normalizations are one subtraction, one product and one sum") {
  Network network({2});
  data::Rescaling rescaling;
  rescaling.scale = 2;
  rescaling.offset = 1;
  data::Normalization normalization;
  normalization.mean.value = std::vector<double>{1, 3};
  normalization.variance.value = std::vector<double>{4, 16};
  const ValueId y = network.model.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {network.x});
  std::vector<std::string> refused;
  const Graph made = network.exported(y, refused, {rescaling, normalization});
  CHECK(refused.empty());
  REQUIRE(made.nodes.size() == 3);  // ((x - (m - 1) / 2) 2 / s
  CHECK(made.nodes[0].op_type == "Sub");
  CHECK(made.nodes[1].op_type == "Mul");
  std::vector<float> shift(2), scale(2);
  std::memcpy(shift.data(), made.initializers[0].second.bytes.data(), 8);
  std::memcpy(scale.data(), made.initializers[1].second.bytes.data(), 8);
  CHECK(shift == std::vector<float>{0, 1});
  CHECK(scale == std::vector<float>{1, 0.5f});
}

TEST_CASE("numbers many deviations from 0 are normalized in double precision") {
  Network network({1});
  data::Normalization years;
  years.mean.value = 2000.0;
  years.variance.value = 4.0;
  const ValueId y = network.model.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {network.x});
  std::vector<std::string> refused;
  const Graph made = network.exported(y, refused, {years});
  CHECK(count(made, "Cast", "input") == 1);
  CHECK(made.initializers[0].second.type == ElementType::kDouble);
}

TEST_CASE("pictures that get a size are [height, width, channels], whatever the rank of what the layers read") {
  using Dim = std::variant<std::int64_t, std::string>;
  data::Resizing resizing;
  resizing.height.value = 8;
  resizing.width = 6;
  for (const auto& [shape, channels] : {std::pair(Shape{8, 6}, 1), {Shape{8, 6, 3}, 3}, {Shape{96}, 2}}) {
    CAPTURE(shape.text());
    Network network(shape);
    const ValueId y = network.model.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {network.x});
    std::vector<std::string> refused;
    const Graph made = network.exported(y, refused, {resizing});
    REQUIRE(made.inputs.size() == 1);
    CHECK(made.inputs[0].dims == std::vector<Dim>{"batch", "height", "width", std::int64_t{channels}});
  }
}

TEST_CASE("random steps do not act, and those without operators are refused") {
  Network network({4, 4, 3});
  const ValueId y = network.model.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {network.x});
  std::vector<std::string> refused;
  CHECK(network.exported(y, refused, {data::RandomFlip(), data::RandomContrast()}).nodes.size() == 1);
  CHECK(refused.empty());
  data::ContrastLimitedAdaptiveHistogramEqualization clahe;
  data::Hashing hashing;
  hashing.num_bins = {3, {}, "data.preprocessing[1].hashing.num_bins"};
  network.exported(y, refused, {clahe, hashing});
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].starts_with("data.preprocessing: contrast_limited_adaptive_histogram_equalization: "));
  CHECK(refused[1].starts_with("data.preprocessing[1].hashing: "));
}

}  // namespace mirrortrain::onnx
