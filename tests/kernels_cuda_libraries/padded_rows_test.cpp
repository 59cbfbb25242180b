// Products of rows that are longer than what counts of them.
#include <doctest/doctest.h>

#include "kernels/cuda/merge_logits.h"
#include "kernels/harness_parts.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr std::int64_t kColumns = 4099, kStride = 4104, kRows = 96;

/// The same elements in rows of kStride.
std::pair<ValueSpec, Values> longer(const std::pair<ValueSpec, Values>& compact) {
  Values values = filled({kRows, kStride}, 1e30);
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) values[i / kColumns * kStride + i % kColumns] = compact.second[i];
  return {{compact.first.dtype, {kStride}, true}, values};
}

template <class DenseOp>
void check(const DenseOp& op, const Inputs& compact, int padded) {
  Inputs inputs = compact;
  if (padded >= 0) inputs[static_cast<std::size_t>(padded)] = longer(compact[static_cast<std::size_t>(padded)]);
  const auto all = run_op(op, compact, kRows);
  const auto of_longer = run_op(cuda::OfPaddedRows<DenseOp>(op, padded, kColumns), inputs, kRows);
  if (all.size() > 1) compare(of_longer[1], all[1], 1e-2, "bias");
  const Values& expected = all[0];
  Values found = of_longer[0];
  if (padded < 0) {
    Values counts = filled({kRows, kColumns});
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) counts[i] = found[i / kColumns * kStride + i % kColumns];
    found = counts;
  }
  compare(found, expected, 1e-2, std::string(op.name()));
}

}  // namespace

TEST_CASE("a dense layer's ops of longer rows give what they give of compact ones") {
  const Operand narrow = batched(DType::kBfloat16, {64}), wide = batched(DType::kBfloat16, {kColumns});
  const auto made = [](const std::vector<Operand>& operands) { return random_inputs(operands, kRows); };
  check(ops::Dense(), made({narrow, fixed({64, kColumns}), absent()}), -1);
  check(ops::Dense(), made({wide, fixed({kColumns, 64}), absent()}), 0);
  check(ops::DenseInputGradient(), made({narrow, fixed({kColumns, 64})}), -1);
  check(ops::DenseInputGradient(), made({wide, fixed({64, kColumns})}), 0);
  check(ops::DenseWeightGradient(false), made({wide, narrow}), 0);
  check(ops::DenseWeightGradient(true), made({narrow, wide}), 1);
  check(ops::Dense(), made({narrow, fixed({64, kColumns}), fixed({kColumns})}), -1);
}
