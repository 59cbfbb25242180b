// Custom kernels for convolutions of each channel by itself are the CPU's convolutions.
#include "kernels/cuda/depthwise.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/conv2d_geometries.h"
#include "kernels/cpu/registry.h"
#include "kernels/cuda/merge.h"
#include "kernels_cuda/compare_with_cpu.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr auto kSame = ops::Padding::kSame;
constexpr auto kRelu = ops::ActivationKind::kRelu, kTanh = ops::ActivationKind::kTanh;

/// In packs and one by one; windows of 3 x 3 with strides 1, 2 and 3, others with stride 1, and all else.
const Conv2dGeometry kDepthwise[] = {
    {{9, 9, 32}, {3, 3, 1, 32}, {.padding = kSame, .groups = 32}, true, kRelu},
    {{9, 10, 8}, {3, 3, 1, 8}, {.groups = 8}, false},
    {{8, 11, 16}, {3, 3, 1, 16}, {.strides = {2, 2}, .padding = kSame, .groups = 16}, false},
    {{7, 8, 24}, {3, 3, 1, 24}, {.strides = {2, 2}, .groups = 24}, true, kTanh},
    {{9, 7, 5}, {3, 3, 1, 5}, {.strides = {2, 1}, .padding = kSame, .groups = 5}, true},
    {{9, 7, 8}, {3, 3, 1, 8}, {.strides = {1, 2}, .padding = kSame, .groups = 8}, true},
    {{10, 10, 8}, {3, 3, 1, 8}, {.strides = {3, 3}, .padding = kSame, .groups = 8}, false},
    {{9, 9, 8}, {3, 3, 1, 8}, {.dilation_rate = {2, 2}, .padding = kSame, .groups = 8}, false, kRelu},
    {{8, 6, 7}, {5, 5, 1, 7}, {.padding = kSame, .groups = 7}, true},
    {{8, 9, 16}, {7, 2, 1, 16}, {.strides = {2, 2}, .padding = kSame, .groups = 16}, true},
    {{8, 9, 16}, {7, 7, 1, 16}, {.padding = kSame, .groups = 16}, true, kRelu},
    {{6, 11, 8}, {1, 5, 1, 8}, {.groups = 8}, false},
    {{1, 1, 8}, {3, 3, 1, 8}, {.padding = kSame, .groups = 8}, false},
    {{3, 3, 264}, {3, 3, 1, 264}, {.padding = kSame, .groups = 264}, true},
    // With several filters for each channel, whose outputs are in packs or not.
    {{9, 9, 8}, {3, 3, 1, 16}, {.padding = kSame, .groups = 8}, true, kRelu},
    {{8, 11, 16}, {3, 3, 1, 48}, {.strides = {2, 2}, .padding = kSame, .groups = 16}, false},
    {{7, 6, 3}, {5, 3, 1, 6}, {.groups = 3}, true, kTanh},
    {{9, 7, 5}, {3, 3, 1, 20}, {.strides = {2, 1}, .dilation_rate = {1, 2}, .padding = kSame, .groups = 5}, true},
    {{5, 5, 24}, {2, 2, 1, 264}, {.padding = kSame, .groups = 24}, false},
};

KernelRegistry depthwise_registry() {
  KernelRegistry own("cuda");
  const auto add = [&]<class OpType>(std::type_identity<OpType>) {
    own.add<OpType>([](const OpType& op, const KernelSpecs& specs) {
      auto kernel = cuda::make_if_depthwise(op, specs);
      REQUIRE(kernel != nullptr);
      return kernel;
    });
  };
  add(std::type_identity<ops::Conv2d>());
  add(std::type_identity<ops::Conv2dInputGradient>());
  add(std::type_identity<ops::Conv2dWeightGradient>());
  add(std::type_identity<cuda::Conv2dOhwiWeightGradient>());
  return for_host_memory(own);
}

void check(const Op& op, const Inputs& inputs, std::int64_t rows, double tolerance, const std::string& name) {
  static const KernelRegistry registry = depthwise_registry();
  const auto expected = run_once(op, inputs, rows, {}, cpu::kernel_registry());
  std::vector<Values> first;
  const auto compare_all = [&](const std::vector<Values>& found, std::int64_t) {
    for (std::size_t i = 0; i < found.size(); ++i) compare(found[i], expected[i], tolerance, name);
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].data == first[i].data);
  };
  run_in_each_geometry(op, inputs, rows, {}, compare_all, registry);
}

std::string title(const Conv2dGeometry& g, DType dtype, std::int64_t rows) {
  return fmt::format("{} images {} with {}, strides {} x {}, dilation {}, {}", rows, g.image.text(), g.kernel.text(),
                     g.attributes.strides[0], g.attributes.strides[1], g.attributes.dilation_rate[0], name_of(dtype));
}

}  // namespace

TEST_CASE("convolutions of each channel by itself, and their gradients, are the CPU's, the same bits in any grid") {
  for (const DType dtype : kFloatTypes) {
    const double tolerance = dtype == DType::kFloat32 ? 1e-5 : 1e-2;
    for (const Conv2dGeometry& g : kDepthwise) {
      const ops::Conv2d forward(g.attributes, g.activation);
      for (const std::int64_t rows : {1, 5, 0}) {
        const std::string name = title(g, dtype, rows);
        const Fill round = [dtype](std::int64_t, double uniform) { return rounded(dtype, uniform); };
        const Operand image = batched(dtype, g.image), kernel = fixed(g.kernel, round),
                      bias = g.with_bias ? fixed({g.kernel[3]}, round) : absent();
        const Inputs inputs = random_inputs({image, kernel, bias}, rows);
        check(forward, inputs, rows, tolerance, name);
        const std::vector<ValueSpec> specs{inputs[0].first, inputs[1].first, inputs[2].first};
        const Operand dy = batched(dtype, forward.infer(specs)[0].shape);
        check(ops::Conv2dInputGradient(g.attributes, g.image), random_inputs({dy, kernel}, rows), rows, tolerance,
              name + ": gradient of the image");
        check(ops::Conv2dWeightGradient(g.attributes, g.kernel, g.with_bias), random_inputs({image, dy}, rows), rows,
              tolerance, name + ": gradient of the filters");
      }
    }
  }
}

TEST_CASE("the gradient of depthwise filters in OHWI is the other one in another order") {
  const KernelRegistry registry = depthwise_registry();
  for (const Conv2dGeometry& g : kDepthwise) {
    const ValueSpec specs[] = {{DType::kFloat32, g.image, true}, {DType::kFloat32, g.kernel, false}};
    const Shape y = ops::Conv2d(g.attributes).infer(specs)[0].shape;
    const ops::Conv2dWeightGradient op(g.attributes, g.kernel, g.with_bias);
    const Inputs inputs = random_inputs({batched(DType::kFloat32, g.image), batched(DType::kFloat32, y)}, 5);
    const auto canonical = run_op(op, inputs, 5, 1, {}, registry)[0];
    const auto found = run_op(cuda::Conv2dOhwiWeightGradient(op), inputs, 5, 1, {}, registry)[0];
    const std::int64_t out = g.kernel.back(), taps = g.kernel.elements() / out;
    for (std::int64_t i = 0; i < out * taps; ++i) CHECK(found[i] == canonical[i % taps * out + i / taps]);
  }
}

TEST_CASE("other convolutions are left to cuDNN") {
  KernelSpecs specs;
  specs.inputs = {{DType::kFloat32, {2, 5, 5, 4}}, {DType::kFloat32, {3, 3, 2, 8}}};
  specs.outputs = {{DType::kFloat32, {2, 3, 3, 8}}};
  CHECK(cuda::make_if_depthwise(ops::Conv2d({.groups = 2}), specs) == nullptr);
  specs.inputs = {{DType::kFloat32, {2, 5, 5, 1}}, {DType::kFloat32, {3, 3, 1, 8}}};
  CHECK(cuda::make_if_depthwise(ops::Conv2d({.groups = 1}), specs) == nullptr);
}
