#include <doctest/doctest.h>

#include "graph/ops/attention.h"
#include "graph/ops/dense.h"
#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

// Sums that are too long for a host that runs a GPU's kernels thread by thread. That two runs give the same bits is
// checked with every comparison.

TEST_CASE("attention over 1,024 steps, as in GPT-2") {
  ops::AttentionAttributes op{.heads = 2, .scale = 0.125f, .causal = true};
  const Operand x = batched(DType::kBfloat16, {1024, 128});
  for (const float dropout : {0.0f, 0.1f}) {
    op.dropout = dropout;
    compare_with_cpu({"attention over 1,024 steps", std::make_shared<ops::Attention>(op), {x, x, x}, {2}, 1.2e-2});
    const Operand log_sums = batched(DType::kFloat32, {2, 1024}, [](std::int64_t, double u) { return 6 + u; });
    compare_with_cpu(
        {"its gradient", std::make_shared<ops::AttentionGradient>(op), {x, x, x, x, log_sums, x}, {2}, 2.5e-2});
  }
}

TEST_CASE("products of wide rows of an odd number of elements") {
  constexpr std::int64_t kOdd = 4099;
  const Operand narrow = batched(DType::kBfloat16, {64}), wide = batched(DType::kBfloat16, {kOdd});
  const std::vector<std::int64_t> rows{96};
  compare_with_cpu({"from", std::make_shared<ops::Dense>(), {wide, fixed({kOdd, 64}), absent()}, rows, 1e-2});
  compare_with_cpu({"to", std::make_shared<ops::Dense>(), {narrow, fixed({64, kOdd}), absent()}, rows, 1e-2});
  compare_with_cpu({"back", std::make_shared<ops::DenseInputGradient>(), {wide, fixed({64, kOdd})}, rows, 1e-2});
  compare_with_cpu({"kernel", std::make_shared<ops::DenseWeightGradient>(true), {narrow, wide}, rows, 1e-4});
}

TEST_CASE("the gradients of kernel and bias, in one pass of cuBLASLt, have the same bits over many rows") {
  for (const DType dtype : kFloatTypes) {
    compare_with_cpu({"gradients of a dense layer",
                      std::make_shared<ops::DenseWeightGradient>(true),
                      {batched(dtype, {256}), batched(dtype, {512})},
                      {4096, 16384},
                      2e-5});
  }
}
