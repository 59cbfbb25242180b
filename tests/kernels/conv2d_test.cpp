#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "graph/ops/conv.h"
#include "kernels/conv2d_geometries.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::ActivationKind;
using ops::Padding;

namespace {

using Geometry = Conv2dGeometry;
constexpr auto kSame = Padding::kSame, kValid = Padding::kValid;

double activated(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::kRelu: return x > 0 ? x : 0;
    case ActivationKind::kTanh: return std::tanh(x);
    default: return x;
  }
}

/// Calls visit(index in the image, in the kernel, in the output) for every product of a convolution.
template <class Visit>
void each_product(const ops::Conv2dAttributes& a, const Shape& x, const Shape& kernel, const Shape& y,
                  const Visit& visit) {
  const auto rows = ops::window_axis(x[1], kernel[0], a.strides[0], a.dilation_rate[0], a.padding);
  const auto columns = ops::window_axis(x[2], kernel[1], a.strides[1], a.dilation_rate[1], a.padding);
  const std::int64_t in = kernel[2], out = kernel[3], out_per_group = out / a.groups;
  for (std::int64_t position = 0; position < y.elements() / out; ++position) {
    const std::int64_t n = position / (y[1] * y[2]), i = position / y[2] % y[1], j = position % y[2];
    for (std::int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
      const std::int64_t row = i * a.strides[0] - rows.pad_before + tap / kernel[1] * a.dilation_rate[0];
      const std::int64_t column = j * a.strides[1] - columns.pad_before + tap % kernel[1] * a.dilation_rate[1];
      if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
      const std::int64_t pixel = ((n * x[1] + row) * x[2] + column) * x[3];
      for (std::int64_t c = 0; c < in; ++c) {
        std::int64_t f = 0;
        for (std::int64_t group = 0; group < a.groups; ++group) {
          for (const std::int64_t end = f + out_per_group; f < end; ++f) {
            visit(pixel + group * in + c, (tap * in + c) * out + f, position * out + f);
          }
        }
      }
    }
  }
}

Shape output_shape(const Geometry& g) {
  const ValueSpec specs[] = {{DType::kFloat32, g.image, true}, {DType::kFloat32, g.kernel, false}};
  return ops::Conv2d(g.attributes).infer(specs)[0].shape;
}

std::vector<Values> conv2d(const Geometry& g, const std::vector<Values>& inputs) {
  const Values &x = inputs[0], &kernel = inputs[1];
  Values y = filled(output_shape(g).with_rows(x.rows()));
  each_product(g.attributes, x.shape, g.kernel, y.shape,
               [&](auto from, auto weight, auto to) { y[to] += x[from] * kernel[weight]; });
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const double bias = g.with_bias ? inputs[2][i % g.kernel[3]] : 0;
    y[i] = activated(g.activation, y[i] + bias);
  }
  return {y};
}

std::vector<Values> conv2d_input_gradient(const Geometry& g, const std::vector<Values>& inputs) {
  const Values &dy = inputs[0], &kernel = inputs[1];
  Values dx = filled(g.image.with_rows(dy.rows()));
  each_product(g.attributes, dx.shape, g.kernel, dy.shape,
               [&](auto to, auto weight, auto from) { dx[to] += dy[from] * kernel[weight]; });
  return {dx};
}

std::vector<Values> conv2d_weight_gradient(const Geometry& g, const std::vector<Values>& inputs) {
  const Values &x = inputs[0], &dy = inputs[1];
  Values kernel = filled(g.kernel), bias = filled({g.kernel[3]});
  each_product(g.attributes, x.shape, g.kernel, dy.shape,
               [&](auto image, auto weight, auto output) { kernel[weight] += x[image] * dy[output]; });
  for (std::int64_t i = 0; i < dy.elements(); ++i) bias[i % g.kernel[3]] += dy[i];
  if (g.with_bias) return {kernel, bias};
  return {kernel};
}

/// Kernels round them to the compute dtype; here they are round already.
Operand weights(DType dtype, Shape shape) {
  return fixed(std::move(shape), [dtype](std::int64_t, double uniform) { return rounded(dtype, uniform); });
}

/// Sums of up to 1500 float32 products.
double tolerance(DType dtype) { return dtype == DType::kFloat32 ? 1e-5 : 1e-2; }

std::string title(const Geometry& g, DType dtype) {
  return fmt::format("conv2d {} with {}, strides {}, dilation {}, {} groups, {}, {}", g.image.text(), g.kernel.text(),
                     g.attributes.strides[0], g.attributes.dilation_rate[0], g.attributes.groups,
                     g.attributes.padding == kSame ? "same" : "valid", name_of(dtype));
}

Case forward_case(const Geometry& g, DType dtype) {
  Case test{
      .name = title(g, dtype),
      .op = std::make_shared<ops::Conv2d>(g.attributes, g.activation),
      .inputs = {batched(dtype, g.image), weights(dtype, g.kernel), g.with_bias ? fixed({g.kernel[3]}) : absent()},
      .tolerance = tolerance(dtype)};
  test.reference = [g](const std::vector<Values>& inputs) { return conv2d(g, inputs); };
  return test;
}

Case input_gradient_case(const Geometry& g, DType dtype) {
  Case test{.name = title(g, dtype) + ": gradient of the input",
            .op = std::make_shared<ops::Conv2dInputGradient>(g.attributes, g.image),
            .inputs = {batched(dtype, output_shape(g)), weights(dtype, g.kernel)},
            .tolerance = tolerance(dtype)};
  test.reference = [g](const std::vector<Values>& inputs) { return conv2d_input_gradient(g, inputs); };
  return test;
}

Case weight_gradient_case(const Geometry& g, DType dtype) {
  Case test{.name = title(g, dtype) + ": gradient of the weights",
            .op = std::make_shared<ops::Conv2dWeightGradient>(g.attributes, g.kernel, g.with_bias),
            .inputs = {batched(dtype, g.image), batched(dtype, output_shape(g))},
            .tolerance = tolerance(dtype)};
  test.reference = [g](const std::vector<Values>& inputs) { return conv2d_weight_gradient(g, inputs); };
  return test;
}

template <class Check>
void each_geometry(const Check& check) {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kSmall) check(g, dtype);
    for (const Geometry& g : kLarge) check(g, dtype);
  }
}

}  // namespace

TEST_CASE("conv2d slides the kernel, adds the bias and activates") {
  each_geometry([](const Geometry& g, DType dtype) { check_forward(forward_case(g, dtype)); });
}

TEST_CASE("conv2d gradients agree with finite differences") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kSmall) check_gradient(forward_case(g, dtype), {true, true, g.with_bias});
  }
}

TEST_CASE("conv2d_input_gradient scatters each output's gradient over its window") {
  each_geometry([](const Geometry& g, DType dtype) {
    const Case test = input_gradient_case(g, dtype);
    check_forward(test);
    // As a layer it is the transposed convolution. Of large ones the reference takes too long.
    if (g.kernel.elements() <= 200) check_gradient(test, {true, true});
  });
}

TEST_CASE("conv2d_weight_gradient sums over rows and positions, and is zero without rows") {
  each_geometry([](const Geometry& g, DType dtype) { check_forward(weight_gradient_case(g, dtype)); });
}

TEST_CASE("conv2d and its gradients take wide and large images") {
  for (const Geometry& g : kWide) {
    for (Case test : {forward_case(g, DType::kFloat32), input_gradient_case(g, DType::kFloat32),
                      weight_gradient_case(g, DType::kFloat32)}) {
      test.rows = {2};
      test.tolerance = 5e-4;  // a weight's gradient is the sum of more than 10,000 products around 0
      check_forward(test);
    }
  }
}

TEST_CASE("window_axis pads as Keras does, the odd one after") {
  const auto axis = [](auto... parameters) {
    const ops::WindowAxis window = ops::window_axis(parameters...);
    return std::array{window.output, window.pad_before, window.pad_after};
  };
  CHECK(axis(28, 3, 1, 1, kValid) == std::array<std::int64_t, 3>{26, 0, 0});
  CHECK(axis(28, 3, 2, 1, kSame) == std::array<std::int64_t, 3>{14, 0, 1});
  CHECK(axis(28, 4, 1, 1, kSame) == std::array<std::int64_t, 3>{28, 1, 2});
  CHECK(axis(5, 3, 1, 2, kValid) == std::array<std::int64_t, 3>{1, 0, 0});
  CHECK(axis(4, 3, 1, 2, kValid)[0] == 0);
  CHECK(axis(5, 1, 3, 1, kSame) == std::array<std::int64_t, 3>{2, 0, 0});
}

TEST_CASE("conv2d refuses what does not fit, with the shapes") {
  const auto infer = [](Shape image, Shape kernel, ops::Conv2dAttributes attributes) {
    const ValueSpec specs[] = {{DType::kFloat32, std::move(image), true}, {DType::kFloat32, std::move(kernel), false}};
    return ops::Conv2d(attributes).infer(specs)[0];
  };
  CHECK(infer({8, 8, 4}, {3, 3, 2, 6}, {.groups = 2}) == ValueSpec{DType::kFloat32, {6, 6, 6}, true});
  CHECK_THROWS_WITH_AS(infer({8, 8, 3}, {3, 3, 3, 6}, {.groups = 2}),
                       "conv2d: 3 channels cannot be split into 2 groups", Error);
  CHECK_THROWS_AS(infer({8, 8, 3}, {3, 3, 4, 6}, {}), Error);
  CHECK_THROWS_AS(infer({8, 8, 4}, {3, 3, 2, 5}, {.groups = 2}), Error);
  CHECK_THROWS_AS(infer({2, 8, 3}, {3, 3, 3, 6}, {}), Error);
  CHECK_THROWS_AS(infer({8, 3}, {3, 3, 3, 6}, {}), Error);
}
