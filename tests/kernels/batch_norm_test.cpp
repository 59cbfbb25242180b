#include "graph/ops/batch_norm.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

double or_else(const Values& values, std::int64_t channel, double otherwise) {
  return values.absent ? otherwise : values[channel];
}

/// y from x, the statistics to use and gamma and beta (inputs 1 and 2).
Values normalized(const std::vector<Values>& inputs, const Values& mean, const Values& variance, double epsilon,
                  ops::Rectifier relu) {
  Values y = inputs[0];
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t c = i % y.shape.back();
    y[i] = (y[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * or_else(inputs[1], c, 1) + or_else(inputs[2], c, 0);
    if (relu) y[i] = std::clamp(y[i], 0.0, static_cast<double>(relu.most));
  }
  return y;
}

Reference batch_norm(double momentum, double epsilon, ops::Rectifier relu) {
  return [=](const std::vector<Values>& inputs) {
    const Values& x = inputs[0];
    const std::int64_t channels = x.shape.back(), cells = x.elements() / channels;
    Values mean = filled({channels}), variance = filled({channels}), inverse = filled({channels});
    for (std::int64_t i = 0; i < x.elements(); ++i) mean[i % channels] += x[i] / static_cast<double>(cells);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const double deviation = x[i] - mean[i % channels];
      variance[i % channels] += deviation * deviation / static_cast<double>(cells);
    }
    Values moving_mean = inputs[3], moving_variance = inputs[4];
    for (std::int64_t c = 0; c < channels; ++c) {
      inverse[c] = 1 / std::sqrt(variance[c] + epsilon);
      if (cells == 0) continue;
      moving_mean[c] = moving_mean[c] * momentum + mean[c] * (1 - momentum);
      moving_variance[c] = moving_variance[c] * momentum + variance[c] * (1 - momentum);
    }
    return std::vector<Values>{normalized(inputs, mean, variance, epsilon, relu), mean, inverse, moving_mean,
                               moving_variance};
  };
}

Reference inference(double epsilon, ops::Rectifier relu) {
  return [=](const std::vector<Values>& inputs) {
    return std::vector<Values>{normalized(inputs, inputs[3], inputs[4], epsilon, relu)};
  };
}

std::vector<Operand> operands(DType dtype, const Shape& image, bool scaled, double offset = 0) {
  const Shape channels{image.back()};
  const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
  return {batched(dtype, image, [=](std::int64_t, double u) { return offset + 2 * u; }),
          scaled ? fixed(channels, positive) : absent(), scaled ? fixed(channels) : absent(), fixed(channels),
          fixed(channels, positive)};
}

/// The last is low enough that many outputs reach it.
constexpr ops::Rectifier kRectifiers[] = {{}, {true}, {true, 0.5f}};
const Shape kImages[] = {{6, 5, 16}, {3, 3, 5}, {4, 2, 50}, {19}, {1, 1, 1}, {8, 9, 33}, {3, 2, 123}};

}  // namespace

TEST_CASE("batch normalization in training matches a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : kImages) {
      for (const ops::Rectifier relu : kRectifiers) {
        for (const bool scaled : {true, false}) {
          Case test{.name = fmt::format("batch_norm {} {}{}{}", name_of(dtype), image.text(),
                                        relu ? fmt::format(" relu to {}", relu.most) : "", scaled ? "" : " unscaled"),
                    .op = std::make_shared<ops::BatchNorm>(0.9f, 1e-2f, relu),
                    .inputs = operands(dtype, image, scaled),
                    .reference = batch_norm(0.9f, 1e-2f, relu),
                    .rows = {5, 0},
                    // The mean is as exact as the spread around it, not as its own size.
                    .tolerance = dtype == DType::kFloat32 ? 5e-6 : 1e-2};
          check_forward(test);
          test.tolerance = dtype == DType::kFloat32 ? 1e-5 : 2e-2;
          check_gradient(test, {true, scaled, scaled, false, false});
        }
      }
    }
  }
}

TEST_CASE("one row of an image has statistics of its own") {
  Case test{.name = "one row",
            .op = std::make_shared<ops::BatchNorm>(0.99f, 1e-3f),
            .inputs = operands(DType::kFloat32, {4, 4, 3}, true),
            .reference = batch_norm(0.99f, 1e-3f, {}),
            .rows = {1}};
  check_forward(test);
  test.tolerance = 1e-5;
  check_gradient(test, {true, true, true, false, false});
}

TEST_CASE("batch statistics hold where the mean is far from zero") {
  const Case test{.name = "offset 1000",
                  .op = std::make_shared<ops::BatchNorm>(0.9f, 1e-3f),
                  .inputs = operands(DType::kFloat32, {8, 8, 20}, true, 1000),
                  .reference = batch_norm(0.9f, 1e-3f, {}),
                  .rows = {6},
                  .tolerance = 5e-5};  // the mean itself is rounded to float32
  check_forward(test);
}

TEST_CASE("the bits of batch statistics do not depend on the threads") {
  const ValueSpec x{DType::kFloat32, {40, 3}, true}, channels{DType::kFloat32, {3}, false};
  Values image = filled({50, 40, 3});
  for (std::int64_t i = 0; i < image.elements(); ++i) image[i] = std::sin(static_cast<double>(i));
  const std::vector<std::pair<ValueSpec, Values>> inputs = {{x, image},
                                                            {channels, filled({3}, 1)},
                                                            {channels, filled({3})},
                                                            {channels, filled({3})},
                                                            {channels, filled({3})}};
  const auto one = run_op(ops::BatchNorm(0.9f, 1e-3f), inputs, 50, 1);
  const auto four = run_op(ops::BatchNorm(0.9f, 1e-3f), inputs, 50, 4);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].data == four[i].data);
}

TEST_CASE("batch normalization with moving statistics matches a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : kImages) {
      for (const ops::Rectifier relu : kRectifiers) {
        for (const bool scaled : {true, false}) {
          const Case test{.name = fmt::format("inference {} {}{}", name_of(dtype), image.text(),
                                              relu ? fmt::format(" relu to {}", relu.most) : ""),
                          .op = std::make_shared<ops::BatchNormInference>(1e-3f, relu),
                          .inputs = operands(dtype, image, scaled),
                          .reference = inference(1e-3f, relu),
                          .rows = {3, 1, 0}};
          check_forward(test);
          check_gradient(test, {true, false, false, false, false});
        }
      }
    }
  }
}

TEST_CASE("batch normalization refuses vectors of another length") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {4, 3}, true}),
                four = graph.input("four", {DType::kFloat32, {4}});
  CHECK_THROWS_WITH(graph.apply(ops::BatchNorm(0.9f, 1e-3f), {x, four, kNoValue, four, four}),
                    "batch_norm: expected gamma as float32 [3], found float32 [4]");
}
