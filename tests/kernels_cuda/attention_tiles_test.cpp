#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "graph/ops/attention.h"
#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

// Attention whose heads are 64 or 128 wide is computed in tiles on tensor cores. The CPU's kernels, which the op tables
// hold against a reference in double and against finite differences, say what it should be.

namespace {

/// Whether a step of a row counts.
using Mask = std::function<bool(std::int64_t row, std::int64_t step)>;

struct Attended {
  std::int64_t steps, sources, size, heads = 1;
  ops::AttentionAttributes op = {};
  Mask query = {}, value = {};
  bool tf32 = false;
  std::int64_t rows = 1;
};

Operand mask_of(const Mask& mask, std::int64_t steps) {
  if (!mask) return absent();
  return batched(DType::kFloat32, {steps},
                 [=](std::int64_t i, double) { return mask(i / steps, i % steps) ? 1.0 : 0.0; });
}

/// Forward and backward. Backward's P is any exp(S - L): the sums L are given.
void check(const std::string& name, const Attended& given) {
  ops::AttentionAttributes op = given.op;
  op.heads = given.heads;
  op.scale = 1 / std::sqrt(static_cast<float>(given.size));
  const DType dtype = given.tf32 ? DType::kFloat32 : DType::kBfloat16;
  const Operand query = batched(dtype, {given.steps, op.heads * given.size});
  const Operand key = batched(dtype, {given.sources, op.heads * given.size});
  Comparison test{.name = fmt::format("{}, {} steps of {} of {} heads {} wide, {}{}", name, given.steps, given.sources,
                                      op.heads, given.size, name_of(dtype), op.causal ? ", causal" : ""),
                  .op = std::make_shared<ops::Attention>(op),
                  .inputs = {query, key, key, mask_of(given.query, given.steps), mask_of(given.value, given.sources)},
                  .rows = {given.rows},
                  .tolerance = given.tf32 ? 1.5e-3 : 1.2e-2,
                  .tf32 = given.tf32};
  compare_with_cpu(test);
  test.name += ", gradient";
  test.op = std::make_shared<ops::AttentionGradient>(op);
  const Operand log_sums =
      batched(DType::kFloat32, {op.heads, given.steps}, [](std::int64_t, double u) { return 2 + u; });
  test.inputs.insert(test.inputs.begin() + 3, {query, log_sums, query});
  test.tolerance *= 2;
  compare_with_cpu(test);
}

}  // namespace

TEST_CASE("attention in tiles: a part of a tile, whole ones, and more than one") {
  check("one", {1, 1, 64});
  check("tiles", {64, 64, 64, 2});
  check("parts of tiles", {70, 130, 64, 2, {}, {}, {}, false, 2});
  check("more steps than source steps", {130, 30, 64, 2});
  check("more source steps than steps", {33, 140, 128});
  check("tf32", {70, 75, 64, 2, {}, {}, {}, true});
  check("tf32", {33, 40, 128, 1, {}, {}, {}, true});
}

TEST_CASE("attention in tiles: a step does not see later source steps") {
  check("causal", {140, 140, 64, 1, {.causal = true}});
  check("causal", {100, 70, 128, 1, {.causal = true}});
  check("causal", {40, 90, 64, 1, {.causal = true}, {}, {}, true});
  check("window", {140, 140, 64, 1, {.window = 9}});
  check("causal window", {140, 140, 64, 1, {.causal = true, .window = 70}});
}

TEST_CASE("attention in tiles drops the weights that every other kernel drops") {
  for (const bool causal : {false, true}) {
    const ops::AttentionAttributes op{.causal = causal, .dropout = 0.3f, .stream = 5, .first_head = 3};
    check("dropout", {70, 67, 64, 2, op});
    check("dropout", {20, 50, 128, 1, op});
  }
  check("dropout", {33, 30, 64, 2, {.dropout = 0.5f, .stream = 9}, {}, {}, true});
}

TEST_CASE("attention in tiles: masks hide source steps, and a step that sees nothing attends to all or none") {
  const Mask in_front = [](std::int64_t row, std::int64_t step) { return row != 0 || step >= 66; };
  const Mask behind = [](std::int64_t row, std::int64_t step) { return row != 1 || step < 5; };
  const Mask nothing = [](std::int64_t row, std::int64_t) { return row != 0; };
  for (const bool all : {true, false}) {
    for (const bool causal : {false, true}) {
      const ops::AttentionAttributes op{.causal = causal, .blind_sees_all = all};
      check(all ? "blind see all" : "blind see none", {70, 80, 64, 1, op, behind, in_front, false, 2});
    }
    check("masked wholly", {20, 70, 64, 1, {.blind_sees_all = all}, {}, nothing, false, 2});
  }
  check("masked", {20, 40, 128, 1, {.causal = true, .dropout = 0.2f}, {}, behind, false, 2});
  check("masked", {40, 70, 64, 1, {.causal = true, .window = 5}, behind, in_front, true, 2});
}
