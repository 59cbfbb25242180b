// gelu in cuBLASLt's epilogues.
#include <doctest/doctest.h>

#include "graph/ops/elementwise.h"
#include "kernels/cuda/merge_gelu.h"
#include "kernels/harness_parts.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::ActivationKind;

namespace {

constexpr double kTolerance = 2e-2;  // of bfloat16, rounded once or twice

}  // namespace

TEST_CASE("a dense layer with gelu is the layer and gelu, and keeps gelu's input") {
  for (const std::int64_t units : {64, 72, 20, 3}) {  // with an epilogue, and with rows that are no multiples of 8
    for (const bool with_bias : {true, false}) {
      const Inputs inputs = random_inputs(
          {batched(DType::kBfloat16, {40}), fixed({40, units}), with_bias ? fixed({units}) : absent()}, 96);
      const auto before = run_op(ops::Dense(), inputs, 96);
      const ValueSpec y{DType::kBfloat16, {units}, true};
      const auto expected = run_op(ops::Activation(ActivationKind::kGeluTanh), {{y, before[0]}}, 96);
      for (const bool keeps_input : {true, false}) {
        const auto found = run_op(cuda::DenseWithGelu(keeps_input), inputs, 96);
        compare(found[0], expected[0], kTolerance, "y");
        if (keeps_input) compare(found[1], before[0], kTolerance, "gelu's input");
      }
    }
  }
}

TEST_CASE("a dense layer's input gradient with gelu's derivative is the two") {
  for (const std::int64_t units : {64, 20}) {
    Inputs inputs =
        random_inputs({batched(DType::kBfloat16, {40}), fixed({units, 40}), batched(DType::kBfloat16, {units})}, 96);
    const auto of_y = run_op(ops::DenseInputGradient(), {inputs[0], inputs[1]}, 96);
    const auto expected =
        run_op(ops::ActivationGradient(ActivationKind::kGeluTanh), {inputs[2], {inputs[2].first, of_y[0]}}, 96);
    compare(run_op(cuda::DenseInputGradientOfGelu(), inputs, 96)[0], expected[0], kTolerance, "gradient");
  }
}
