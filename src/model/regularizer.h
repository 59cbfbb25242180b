#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/graph.h"

namespace mirrortrain {

/// Pushes the rows, or the columns, of a matrix apart: the loss grows by factor times the mean of |cos| of the angles
/// between each two of them, as Keras's.
struct OrthogonalRegularizer {
  enum class Mode : std::uint8_t { kRows, kColumns };
  double factor = 0.01;
  Mode mode = Mode::kRows;

  static config::Section<OrthogonalRegularizer> section();
};

/// l1 sum|w| + l2 sum(w^2) is added to the loss, without a factor 1/2, as in Keras; and what depends on angles.
struct Regularizer {
  double l1 = 0, l2 = 0;
  std::optional<OrthogonalRegularizer> orthogonal_regularizer{};

  static config::Section<Regularizer> section();
};

/// Throws Error, calling the variable `name`, unless it is a matrix of several such rows or columns, and not of so many
/// that their angles have no place in memory.
void check_angles(const OrthogonalRegularizer& regularizer, const Shape& shape, std::string_view name);

/// Adds to the graph what each example's loss grows by for the variable `matrix`, batched [1]. `batched`: any value
/// with rows.
ValueId penalty_of(const OrthogonalRegularizer& regularizer, Graph& graph, ValueId matrix, ValueId batched);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::OrthogonalRegularizer::Mode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::OrthogonalRegularizer::Mode>>(
      {{"rows", mirrortrain::OrthogonalRegularizer::Mode::kRows},
       {"columns", mirrortrain::OrthogonalRegularizer::Mode::kColumns}});
};
