#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/cpu/pairs.h"
#include "kernels/kernel.h"

/// Copies of a weight [in, out] as the products of pairs read them, in panels of kPairPanel columns, the last one
/// padded with zeros: [panel][pair][column]. Of rows, for y = x w: the panels are of outputs and the pairs of inputs,
/// whose number is even. Of columns, for dx = dy w^T: the panels are of inputs and the pairs of outputs, whose number
/// is even.
namespace mirrortrain::cpu {

inline constexpr std::int64_t kPairPanel = 64;

enum class PairForm : std::uint8_t { kOfRows, kOfColumns };
/// By PairForm: the keys of their DerivedForm.
inline constexpr std::array<std::string_view, 2> kPairForms = {"pairs of rows", "pairs of columns"};

/// A block of a weight: its rows and columns.
struct WeightBlock {
  std::int64_t row, rows, column, columns;
};

/// The form's size in bytes; its memory is zeroed before the first use.
std::size_t paired_bytes(PairForm form, std::int64_t in, std::int64_t out);

/// Writes the block's elements to the copy. Of rows, the block's first row and their number are even; of columns, its
/// first column and their number. `weight`: [in, out].
void write_pairs(PairForm form, std::int64_t in, std::int64_t out, const float* weight, const WeightBlock& block,
                 Pair* copy);

/// For a kernel that reads a weight so.
DerivedForm paired_form(PairForm form, std::int64_t in, std::int64_t out, int threads);

}  // namespace mirrortrain::cpu
