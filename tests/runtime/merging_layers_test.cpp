// Layers of two inputs: values against a plain reference, gradients against finite differences.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "runtime/network.h"

namespace mirrortrain {
namespace {

using testing::BoundRun;
using testing::check_slope;
using testing::GraphInputs;
using testing::Network;

constexpr std::int64_t kExamples = 3;

/// A layer of the inputs a and b, whose output is the model's.
Built merging(const std::string& a, const std::string& b, const std::string& layer) {
  return build_from(
      fmt::format("model:\n  inputs: {{a: {{shape: {}}}, b: {{shape: {}}}}}\n  layers:\n    - {}\n"
                  "loss: mean_squared_error\n",
                  a, b, layer));
}

/// The same of what two dense layers make of the inputs, so that there are gradients.
Built merging_trained(const std::string& a, const std::string& b, int units_a, int units_b, const std::string& layer) {
  return build_from(
      fmt::format("model:\n  inputs: {{a: {{shape: {}}}, b: {{shape: {}}}}}\n  layers:\n"
                  "    - dense: {{units: {}, inputs: [a], name: x}}\n"
                  "    - dense: {{units: {}, inputs: [b], name: y}}\n    - {}\n"
                  "loss: mean_squared_error\n",
                  a, b, units_a, units_b, layer));
}

struct Values {
  std::vector<float> a, b, output;
  Shape shape;  ///< of one example's output
};

Values values_of(const Built& built, const std::function<void(std::span<float> a, std::span<float> b)>& change = {}) {
  REQUIRE_MESSAGE(built.errors == "", built.errors);
  const ModelGraph& made = built.model.evaluation;
  const std::vector<ValueId> outputs{made.outputs[0].value};
  const Program program(made.graph, kExamples, outputs, cpu::kernel_registry(), 1);
  const GraphInputs inputs(made.graph, kExamples);
  const auto a = inputs.floats(made.inputs[0].value), b = inputs.floats(made.inputs[1].value);
  if (change) change(a, b);
  BoundRun run(made.graph, program, outputs, inputs);
  run.bound->enqueue(run.stream);
  const auto output = run.floats(0);
  return {
      {a.begin(), a.end()}, {b.begin(), b.end()}, {output.begin(), output.end()}, made.graph.spec(outputs[0]).shape};
}

/// A tensor's strides.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// The vector along `axis` (of an example) that begins at each of the other axes' places, in double.
std::vector<std::vector<double>> vectors_along(const std::vector<float>& from, std::int64_t row,
                                               const std::vector<std::int64_t>& dims, std::size_t axis,
                                               bool normalize) {
  const auto strides = strides_of(dims);
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) elements *= dim;
  std::vector<std::vector<double>> all;
  for (std::int64_t at = 0; at < elements; ++at) {
    if (at / strides[axis] % dims[axis] != 0) continue;
    std::vector<double> one;
    double squares = 0;
    for (std::int64_t i = 0; i < dims[axis]; ++i) {
      one.push_back(from[static_cast<std::size_t>(row * elements + at + i * strides[axis])]);
      squares += one.back() * one.back();
    }
    for (double& element : one) element *= normalize ? std::min(1 / std::sqrt(squares), 1e7) : 1;
    all.push_back(std::move(one));
  }
  return all;
}

struct DotCase {
  std::vector<std::int64_t> a, b;
  std::string axes;
  std::size_t axis_a, axis_b;  ///< without the batch
  Shape output;
};

const DotCase kDots[] = {
    {{5}, {5}, "1", 0, 0, {1}},
    {{5}, {5}, "-1", 0, 0, {1}},
    {{3, 5}, {5}, "[2, 1]", 1, 0, {3}},
    {{5}, {5, 2}, "1", 0, 0, {2}},
    {{3, 5}, {5, 2}, "[2, 1]", 1, 0, {3, 2}},
    {{5, 3}, {5, 2}, "1", 0, 0, {3, 2}},
    {{3, 5}, {2, 5}, "-1", 1, 1, {3, 2}},
    {{2, 5, 3}, {4, 2, 5}, "[2, -1]", 1, 2, {2, 3, 4, 2}},
};

std::string text_of(const std::vector<std::int64_t>& dims) { return Shape(dims).text(); }

}  // namespace

TEST_CASE("dot multiplies along an axis of each input, as Keras does") {
  for (const DotCase& c : kDots) {
    for (const bool normalize : {false, true}) {
      const std::string layer = fmt::format("dot: {{inputs: [a, b], axes: {}, normalize: {}}}", c.axes, normalize);
      CAPTURE(layer);
      const Values found = values_of(merging(text_of(c.a), text_of(c.b), layer));
      CHECK(found.shape == c.output);
      std::size_t at = 0;
      for (std::int64_t row = 0; row < kExamples; ++row) {
        for (const auto& a : vectors_along(found.a, row, c.a, c.axis_a, normalize)) {
          for (const auto& b : vectors_along(found.b, row, c.b, c.axis_b, normalize)) {
            double sum = 0;
            for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
            CHECK(found.output[at++] == doctest::Approx(sum).epsilon(1e-5));
          }
        }
      }
      CHECK(at == found.output.size());
    }
  }
}

TEST_CASE("dot of vectors of no length is 0") {
  const Values found = values_of(merging("[5]", "[5]", "dot: {inputs: [a, b], axes: 1, normalize: true}"),
                                 [](std::span<float> a, std::span<float>) { std::ranges::fill(a.first(5), 0.0f); });
  CHECK(found.output[0] == 0);
  CHECK(std::abs(found.output[1]) <= 1.000001f);
  CHECK(found.output[1] != 0);
}

TEST_CASE("dot's gradients are those of finite differences") {
  for (const DotCase& c : kDots) {
    for (const bool normalize : {false, true}) {
      const std::string layer = fmt::format("dot: {{inputs: [x, y], axes: {}, normalize: {}}}", c.axes, normalize);
      CAPTURE(layer);
      Network network(merging_trained(text_of(c.a), text_of(c.b), static_cast<int>(c.a.back()),
                                      static_cast<int>(c.b.back()), layer),
                      3);
      int checked = 0;
      for (unsigned direction = 0; direction < 4; ++direction) checked += check_slope(network, direction) ? 1 : 0;
      CHECK(checked > 0);
    }
  }
}

TEST_CASE("dot refuses axes that do not fit") {
  const auto error = [](const std::string& axes) {
    return merging("[3, 5]", "[4]", "dot: {inputs: [a, b], axes: " + axes + "}").errors;
  };
  CHECK_MESSAGE(error("[2, 1]").find("expected axes of one length, found 5 of [3, 5] of the input 'a' and 4 of [4] of "
                                     "the input 'b'") != std::string::npos,
                error("[2, 1]"));
  for (const char* const axes : {"[0, 1]", "[3, 1]", "[-3, 1]"}) {
    CHECK_MESSAGE(error(axes).find("expected an axis from 1 to 2, or from -2 to -1") != std::string::npos, error(axes));
  }
}

TEST_CASE("minimum and maximum are those of each element, and their gradients those of finite differences") {
  for (const std::string name : {"minimum", "maximum"}) {
    CAPTURE(name);
    const auto better = [&](float x, float y) { return name == "minimum" ? std::min(x, y) : std::max(x, y); };
    const Values found = values_of(merging("[4, 3]", "[1, 3]", name + ": {inputs: [a, b]}"));
    CHECK(found.shape == Shape{4, 3});
    for (std::size_t i = 0; i < found.output.size(); ++i) {
      CHECK(found.output[i] == better(found.a[i], found.b[i / 12 * 3 + i % 3]));
    }
    Network network(merging_trained("[4, 3]", "[1, 3]", 6, 6, name + ": {inputs: [x, y]}"), 5);
    int checked = 0;
    for (unsigned direction = 0; direction < 4; ++direction) checked += check_slope(network, direction) ? 1 : 0;
    CHECK(checked > 1);
  }
}

}  // namespace mirrortrain
