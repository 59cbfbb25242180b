#include "model/regularizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/combine.h"
#include "graph/ops/each.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/matmul.h"

namespace mirrortrain {
namespace {

using ops::PointwiseCode;
using ops::PointwiseFunction;

ValueId squared(Graph& graph, ValueId x) {
  return ops::each(graph, {x},
                   [](PointwiseFunction& f, const auto& v) { return f.apply(PointwiseCode::kSquare, v[0]); });
}

/// Divided by its Euclidean norms over `axis`; zeros stay what they are.
ValueId normalized(Graph& graph, ValueId matrix, std::size_t axis) {
  Shape sums = graph.spec(matrix).shape;
  sums[axis] = 1;
  const ValueId squares = graph.apply_one(ops::SumTo(sums, false), {squared(graph, matrix)});
  return ops::each(graph, {matrix, squares}, [](PointwiseFunction& f, const auto& v) {
    const auto at_least = f.apply(PointwiseCode::kMaximum, v[1], f.constant(1e-12f));
    return f.apply(PointwiseCode::kMultiply, v[0], f.apply(PointwiseCode::kRsqrt, at_least));
  });
}

/// Their number where a matrix has rows, or columns, that are pushed apart.
std::int64_t directions_of(const OrthogonalRegularizer& regularizer, const Shape& shape) {
  return shape[regularizer.mode == OrthogonalRegularizer::Mode::kRows ? 0 : 1];
}

}  // namespace

config::Section<OrthogonalRegularizer> OrthogonalRegularizer::section() {
  return config::Section<OrthogonalRegularizer>(
             "Orthogonal regularization of a matrix: adds factor times the mean of |cos| of the angles between each "
             "two of its rows, or columns, to the loss.")
      .key("factor", &OrthogonalRegularizer::factor, "Regularization factor.", config::at_least(0))
      .key("mode", &OrthogonalRegularizer::mode, "The vectors to make orthogonal: the matrix's rows or its columns.");
}

config::Section<Regularizer> Regularizer::section() {
  return config::Section<Regularizer>(
             "L1, L2 and orthogonal regularization: adds l1 * sum(|w|) + l2 * sum(w^2) to the loss, and the means of "
             "angles.")
      .advice("l1_l2, a number", "write {l1: 0.01, l2: 0.01}, each factor by its name")
      .key("l1", &Regularizer::l1, "L1 regularization factor.", config::at_least(0))
      .key("l2", &Regularizer::l2, "L2 regularization factor, without a factor of 1/2.", config::at_least(0))
      .key("orthogonal_regularizer", &Regularizer::orthogonal_regularizer,
           "Pushes the rows or columns of a matrix apart; null: no.", config::aliases("orthogonal"));
}

void check_angles(const OrthogonalRegularizer& regularizer, const Shape& shape, std::string_view name) {
  constexpr std::int64_t kMost = 1 << 14;
  const bool of_rows = regularizer.mode == OrthogonalRegularizer::Mode::kRows;
  const std::int64_t count = shape.rank() == 2 ? directions_of(regularizer, shape) : 0;
  if (count >= 2 && count <= kMost) return;
  throw Error(fmt::format("orthogonal_regularizer: expected a matrix of 2 to {} {}, found {} of {}", kMost,
                          of_rows ? "rows" : "columns", name, shape.text()));
}

ValueId penalty_of(const OrthogonalRegularizer& regularizer, Graph& graph, ValueId matrix, ValueId batched) {
  const bool of_rows = regularizer.mode == OrthogonalRegularizer::Mode::kRows;
  const auto count = static_cast<double>(directions_of(regularizer, graph.spec(matrix).shape));
  const ValueId directions = normalized(graph, matrix, of_rows ? 1 : 0);
  const ValueId cosines = graph.apply_one(ops::MatMul(!of_rows, of_rows), {directions, directions});
  const ValueId sizes = ops::each(
      graph, {cosines}, [](PointwiseFunction& f, const auto& v) { return f.apply(PointwiseCode::kAbs, v[0]); });
  const ValueId of_all = graph.apply_one(ops::SumTo({1, 1}, false), {sizes});
  // Those of each direction with itself.
  const ValueId of_one = graph.apply_one(ops::SumTo({1, 1}, false), {squared(graph, directions)});
  const ValueId rows = graph.apply_one(ops::FullMask({1, 1}), {batched});
  const ValueId penalty = ops::each(graph, {rows, of_all, of_one}, [&](PointwiseFunction& f, const auto& v) {
    const auto share = f.constant(static_cast<float>(regularizer.factor / (count * (count - 1))));
    const auto of_pairs = f.apply(PointwiseCode::kSubtract, v[1], v[2]);
    return f.apply(PointwiseCode::kMultiply, v[0], f.apply(PointwiseCode::kMultiply, of_pairs, share));
  });
  return graph.apply_one(ops::Reshape({1}), {penalty});
}

}  // namespace mirrortrain
