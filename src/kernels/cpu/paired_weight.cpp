#include "kernels/cpu/paired_weight.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/transpose.h"

namespace mirrortrain::cpu {
namespace {

/// Rows that are rounded, and transposed, at once.
constexpr std::int64_t kRows = 16;

std::int64_t panels(std::int64_t columns) { return (columns + kPairPanel - 1) / kPairPanel; }

/// Where a pair's column is in a copy of so many pairs.
Pair* place(Pair* copy, std::int64_t pairs, std::int64_t pair, std::int64_t column) {
  return copy + column / kPairPanel * kPairPanel * pairs + pair * kPairPanel + column % kPairPanel;
}

/// Calls body(first, count) for the parts of [begin, begin + count) in different panels.
template <class Body>
void for_each_panel(std::int64_t begin, std::int64_t count, const Body& body) {
  for (std::int64_t i = begin; i < begin + count;) {
    const std::int64_t end = std::min(begin + count, (i / kPairPanel + 1) * kPairPanel);
    body(i, end - i);
    i = end;
  }
}

void write_pairs_of_rows(std::int64_t in, std::int64_t out, const float* weight, const WeightBlock& block, Pair* copy) {
  alignas(64) bfloat16 rounded[2 * kPairPanel];
  for_each_panel(block.column, block.columns, [&](std::int64_t column, std::int64_t columns) {
    for (std::int64_t row = block.row; row < block.row + block.rows; row += 2) {
      for (const int i : {0, 1}) {
        round_to_bfloat16(columns, weight + (row + i) * out + column, rounded + i * kPairPanel);
      }
      make_pairs(2, columns, rounded, kPairPanel, place(copy, in / 2, row / 2, column), kPairPanel);
    }
  });
}

void write_pairs_of_columns(std::int64_t out, const float* weight, const WeightBlock& block, Pair* copy) {
  alignas(64) bfloat16 rounded[kRows][kPairPanel];  // whose neighbours are pairs
  for_each_panel(block.row, block.rows, [&](std::int64_t first, std::int64_t rows) {
    for (std::int64_t row = first; row < first + rows; row += kRows) {
      const std::int64_t height = std::min(kRows, first + rows - row);
      for_each_panel(block.column, block.columns, [&](std::int64_t column, std::int64_t columns) {
        for (std::int64_t i = 0; i < height; ++i) {
          round_to_bfloat16(columns, weight + (row + i) * out + column, rounded[i]);
        }
        // Moves pairs as if they were floats.
        transpose(height, columns / 2, reinterpret_cast<const float*>(rounded), kPairPanel / 2,
                  reinterpret_cast<float*>(place(copy, out / 2, column / 2, row)), kPairPanel);
      });
    }
  });
}

}  // namespace

std::size_t paired_bytes(PairForm form, std::int64_t in, std::int64_t out) {
  const std::int64_t pairs = form == PairForm::kOfRows ? panels(out) * in / 2 : panels(in) * out / 2;
  return static_cast<std::size_t>(pairs * kPairPanel) * sizeof(Pair);
}

void write_pairs(PairForm form, std::int64_t in, std::int64_t out, const float* weight, const WeightBlock& block,
                 Pair* copy) {
  if (form == PairForm::kOfRows) return write_pairs_of_rows(in, out, weight, block, copy);
  write_pairs_of_columns(out, weight, block, copy);
}

DerivedForm paired_form(PairForm form, std::int64_t in, std::int64_t out, int threads) {
  DerivedForm made;
  made.key = kPairForms[static_cast<std::size_t>(form)];
  made.bytes = paired_bytes(form, in, out);
  made.refresh = [form, in, out, threads](Stream&, const TensorView& canonical, std::byte* copy) {
    parallel_for(threads, in, kPairPanel, [&](std::int64_t begin, std::int64_t end) {
      write_pairs(form, in, out, canonical.as<float>(), {begin, end - begin, 0, out}, reinterpret_cast<Pair*>(copy));
    });
  };
  return made;
}

}  // namespace mirrortrain::cpu
