#include "graph/ops/elementwise.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/registry.h"
#include "kernels/harness.h"
#include "kernels/storage.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

std::vector<Values> first_input(const std::vector<Values>& inputs) { return {inputs[0]}; }

Reference sum_of_all() {
  return [](const std::vector<Values>& inputs) {
    Values sum = filled(inputs[0].shape);
    for (const Values& input : inputs) {
      for (std::int64_t i = 0; i < sum.elements(); ++i) sum[i] += input[i];
    }
    return std::vector<Values>{sum};
  };
}

}  // namespace

TEST_CASE("elementwise kernels do not depend on the number of blocks") {
  in_each_geometry([](std::int64_t blocks) {
    for (const DType dtype : kFloatTypes) {
      check_forward({.name = fmt::format("linear in {} blocks", blocks),
                     .op = std::make_shared<ops::Activation>(ops::ActivationKind::kLinear),
                     .inputs = {batched(dtype, {1031})},
                     .reference = first_input,
                     .rows = {17, 1}});
    }
  });
}

TEST_CASE("more terms than one launch takes are added in float, first to last") {
  for (const DType dtype : kFloatTypes) {
    for (const std::size_t count : {32, 33, 70}) {
      check_forward({.name = fmt::format("add {} of {}", count, name_of(dtype)),
                     .op = std::make_shared<ops::AddN>(),
                     .inputs = std::vector<Operand>(count, batched(dtype, {37})),
                     .reference = sum_of_all(),
                     .rows = {9, 1, 0}});
    }
  }
}

TEST_CASE("memory that is not aligned to a pack gives the same bits") {
  InlineStream stream;
  constexpr std::int64_t kCount = 77;
  const KernelSpecs specs{
      .inputs = {{DType::kFloat32, {kCount}}}, .outputs = {{DType::kFloat32, {kCount}}}, .input_present = {true}};
  const auto kernel = registry_under_test().make(ops::Activation(ops::ActivationKind::kTanh), specs);
  std::vector<float> x(kCount + 4), y(kCount + 4), right(kCount);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.05f * static_cast<float>(i) - 2;
  for (std::size_t shift = 0; shift < 4; ++shift) {
    TensorView in = specs.inputs[0], out = specs.outputs[0];
    in.data = reinterpret_cast<std::byte*>(x.data() + shift);
    out.data = reinterpret_cast<std::byte*>(y.data() + 3 - shift);
    kernel->enqueue(stream, {std::span(&in, 1), std::span(&out, 1)});
    in.data = reinterpret_cast<std::byte*>(x.data() + shift);
    out.data = reinterpret_cast<std::byte*>(right.data());
    cpu::kernel_registry()
        .make(ops::Activation(ops::ActivationKind::kTanh), specs)
        ->enqueue(stream, {std::span(&in, 1), std::span(&out, 1)});
    for (std::size_t i = 0; i < right.size(); ++i) CHECK(y[i + 3 - shift] == doctest::Approx(right[i]).epsilon(1e-6));
  }
}

TEST_CASE("a dtype without a kernel is refused by name") {
  const KernelSpecs specs{.inputs = {{DType::kInt32, {1}}}, .outputs = {{DType::kInt32, {1}}}, .input_present = {true}};
  CHECK_THROWS_WITH(registry_under_test().make(ops::Activation(ops::ActivationKind::kRelu), specs),
                    "activation has no kernel for int32 on CUDA; it computes on float32 and bfloat16");
}
