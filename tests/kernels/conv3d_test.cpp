#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/ops/conv.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct Geometry {
  Shape volume;  ///< [depth, height, width, channels]
  Shape kernel;  ///< [depth, height, width, channels / groups, filters]
  ops::ConvAttributes<3> attributes;
  bool with_bias = true;
};

constexpr auto kSame = ops::Padding::kSame;

const Geometry kGeometries[] = {
    {{3, 4, 5, 2}, {2, 3, 2, 2, 3}, {}},
    {{3, 4, 5, 2}, {2, 3, 3, 2, 3}, {.padding = kSame}, false},
    {{5, 4, 6, 2}, {3, 2, 3, 2, 2}, {.strides = {2, 1, 3}, .padding = kSame}},
    {{5, 4, 6, 1}, {2, 2, 3, 1, 2}, {.dilation_rate = {2, 3, 1}}},
    {{3, 3, 4, 4}, {2, 2, 2, 2, 6}, {.padding = kSame, .groups = 2}},
    {{3, 3, 4, 3}, {2, 1, 2, 1, 6}, {.groups = 3}, false},
    {{2, 3, 2, 19}, {1, 1, 1, 19, 17}, {}},
    {{4, 5, 4, 16}, {3, 3, 3, 16, 16}, {.padding = kSame}},
};

/// Calls visit(index in the volume, in the kernel, in the output) for every product of a convolution.
template <class Visit>
void each_product(const Geometry& g, const Shape& x, const Shape& y, const Visit& visit) {
  const auto& a = g.attributes;
  const std::int64_t in = g.kernel[3], out = g.kernel[4], out_per_group = out / a.groups;
  const Shape taps{g.kernel[0], g.kernel[1], g.kernel[2]};
  std::int64_t before[3];  // padding
  for (std::size_t axis = 0; axis < 3; ++axis) {
    before[axis] =
        ops::window_axis(x[axis + 1], taps[axis], a.strides[axis], a.dilation_rate[axis], a.padding).pad_before;
  }
  for (std::int64_t position = 0; position < y.elements() / out; ++position) {
    const std::int64_t at[] = {position / (y[3] * y[2]) % y[1], position / y[3] % y[2], position % y[3]};
    for (std::int64_t tap = 0; tap < taps.elements(); ++tap) {
      const std::int64_t of[] = {tap / (taps[1] * taps[2]), tap / taps[2] % taps[1], tap % taps[2]};
      std::int64_t pixel = position / (y[1] * y[2] * y[3]);
      bool inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t from = at[axis] * a.strides[axis] - before[axis] + of[axis] * a.dilation_rate[axis];
        inside = inside && from >= 0 && from < x[axis + 1];
        pixel = pixel * x[axis + 1] + from;
      }
      for (std::int64_t c = 0; inside && c < in; ++c) {
        std::int64_t f = 0;
        for (std::int64_t group = 0; group < a.groups; ++group) {
          for (const std::int64_t end = f + out_per_group; f < end; ++f) {
            visit(pixel * x[4] + group * in + c, (tap * in + c) * out + f, position * out + f);
          }
        }
      }
    }
  }
}

Shape output_shape(const Geometry& g) {
  const ValueSpec specs[] = {{DType::kFloat32, g.volume, true}, {DType::kFloat32, g.kernel, false}};
  return ops::Conv3d(g.attributes).infer(specs)[0].shape;
}

/// Kernels round them to the compute dtype; here they are round already.
Operand weights(DType dtype, Shape shape) {
  return fixed(std::move(shape), [dtype](std::int64_t, double uniform) { return rounded(dtype, uniform); });
}

double tolerance(DType dtype) { return dtype == DType::kFloat32 ? 1e-5 : 1e-2; }

Case forward_case(const Geometry& g, DType dtype) {
  Case test{
      .name = fmt::format("conv3d {} with {}, {}", g.volume.text(), g.kernel.text(), name_of(dtype)),
      .op = std::make_shared<ops::Conv3d>(g.attributes),
      .inputs = {batched(dtype, g.volume), weights(dtype, g.kernel), g.with_bias ? fixed({g.kernel[4]}) : absent()},
      .rows = {3, 1, 0},
      .tolerance = tolerance(dtype)};
  test.reference = [g](const std::vector<Values>& inputs) -> std::vector<Values> {
    Values y = filled(output_shape(g).with_rows(inputs[0].rows()));
    each_product(g, inputs[0].shape, y.shape,
                 [&](auto from, auto weight, auto to) { y[to] += inputs[0][from] * inputs[1][weight]; });
    for (std::int64_t i = 0; g.with_bias && i < y.elements(); ++i) y[i] += inputs[2][i % g.kernel[4]];
    return {y};
  };
  return test;
}

Case input_gradient_case(const Geometry& g, DType dtype) {
  Case test = forward_case(g, dtype);
  test.name += ": gradient of the input";
  test.op = std::make_shared<ops::Conv3dInputGradient>(g.attributes, g.volume);
  test.inputs = {batched(dtype, output_shape(g)), weights(dtype, g.kernel)};
  test.reference = [g](const std::vector<Values>& inputs) -> std::vector<Values> {
    Values dx = filled(g.volume.with_rows(inputs[0].rows()));
    each_product(g, dx.shape, inputs[0].shape,
                 [&](auto to, auto weight, auto from) { dx[to] += inputs[0][from] * inputs[1][weight]; });
    return {dx};
  };
  return test;
}

}  // namespace

TEST_CASE("conv3d slides the kernel over depth, height and width") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) check_forward(forward_case(g, dtype));
  }
}

TEST_CASE("conv3d gradients agree with finite differences") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) {
      if (g.kernel.elements() <= 300) check_gradient(forward_case(g, dtype), {true, true, g.with_bias});
    }
  }
}

TEST_CASE("conv3d_input_gradient scatters each output's gradient over its window") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) {
      const Case test = input_gradient_case(g, dtype);
      check_forward(test);
      if (g.kernel.elements() <= 100) check_gradient(test, {true, true});
    }
  }
}

TEST_CASE("conv3d_weight_gradient sums over rows and positions, and is zero without rows") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) {
      Case test = forward_case(g, dtype);
      test.name += ": gradient of the weights";
      test.op = std::make_shared<ops::Conv3dWeightGradient>(g.attributes, g.kernel, g.with_bias);
      test.inputs = {batched(dtype, g.volume), batched(dtype, output_shape(g))};
      test.reference = [g](const std::vector<Values>& inputs) -> std::vector<Values> {
        Values kernel = filled(g.kernel), bias = filled({g.kernel[4]});
        each_product(g, inputs[0].shape, inputs[1].shape,
                     [&](auto from, auto weight, auto to) { kernel[weight] += inputs[0][from] * inputs[1][to]; });
        for (std::int64_t i = 0; i < inputs[1].elements(); ++i) bias[i % g.kernel[4]] += inputs[1][i];
        if (g.with_bias) return {kernel, bias};
        return {kernel};
      };
      check_forward(test);
    }
  }
}
