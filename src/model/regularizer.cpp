#include "model/regularizer.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pointwise.h"

namespace mirrortrain {
namespace {

using ops::PointwiseCode;
using ops::PointwiseFunction;

ValueId product(Graph& graph, ValueId a, ValueId b) {
  PointwiseFunction function(2);
  function.set_result(function.apply(PointwiseCode::kMultiply, function.input(0), function.input(1)));
  return ops::pointwise(graph, function, {a, b}, DType::kFloat32);
}

/// Divided by its Euclidean norms over `axis`; zeros stay what they are.
ValueId normalized(Graph& graph, ValueId matrix, std::size_t axis) {
  PointwiseFunction square(1), quotient(2);
  square.set_result(square.apply(PointwiseCode::kSquare, square.input(0)));
  const auto at_least = quotient.apply(PointwiseCode::kMaximum, quotient.input(1), quotient.constant(1e-12f));
  const auto inverse = quotient.apply(PointwiseCode::kRsqrt, at_least);
  quotient.set_result(quotient.apply(PointwiseCode::kMultiply, quotient.input(0), inverse));
  Shape sums = graph.spec(matrix).shape;
  sums[axis] = 1;
  const ValueId squares = ops::pointwise(graph, square, {matrix}, DType::kFloat32);
  return ops::pointwise(graph, quotient, {matrix, graph.apply_one(ops::SumTo(sums, false), {squares})},
                        DType::kFloat32);
}

/// Ones but for the diagonal.
ValueId pairs(Graph& graph, std::int64_t size) {
  std::vector<float> ones(static_cast<std::size_t>(size * size), 1.0f);
  for (std::size_t i = 0; i < ones.size(); i += static_cast<std::size_t>(size + 1)) ones[i] = 0;
  return graph.apply_one(ops::Constant({size, size}, std::move(ones)), {});
}

}  // namespace

config::Section<OrthogonalRegularizer> OrthogonalRegularizer::section() {
  return config::Section<OrthogonalRegularizer>(
             "Orthogonal regularization of a matrix: adds factor times the mean of |cos| of the angles between each two "
             "of its rows, or columns, to the loss.")
      .key("factor", &OrthogonalRegularizer::factor, "Regularization factor.", config::at_least(0))
      .key("mode", &OrthogonalRegularizer::mode, "What is pushed apart: the matrix's rows or its columns.");
}

config::Section<Regularizer> Regularizer::section() {
  return config::Section<Regularizer>(
             "L1, L2 and orthogonal regularization: adds l1 * sum(|w|) + l2 * sum(w^2) to the loss, and the means of "
             "angles.")
      .advice("l1_l2, l1l2, a number, a text", "write {l1: 0.01, l2: 0.01}, each factor by its name")
      .key("l1", &Regularizer::l1, "L1 regularization factor.", config::at_least(0))
      .key("l2", &Regularizer::l2, "L2 regularization factor, without a factor of 1/2.", config::at_least(0))
      .key("orthogonal_regularizer", &Regularizer::orthogonal_regularizer,
           "Pushes the rows or columns of a matrix apart; null: no.", config::aliases("orthogonal"));
}

ValueId penalty_of(const OrthogonalRegularizer& regularizer, Graph& graph, ValueId matrix, ValueId batched,
                   std::string_view name) {
  const Shape& shape = graph.spec(matrix).shape;
  const bool of_rows = regularizer.mode == OrthogonalRegularizer::Mode::kRows;
  if (shape.rank() != 2 || shape[of_rows ? 0 : 1] < 2) {
    throw Error(fmt::format("orthogonal_regularizer: expected a matrix of at least two {}, found {} of {}",
                            of_rows ? "rows" : "columns", name, shape.text()));
  }
  const std::int64_t size = shape[of_rows ? 0 : 1];
  const ValueId directions = normalized(graph, matrix, of_rows ? 1 : 0);
  const ValueId cosines = graph.apply_one(ops::MatMul(!of_rows, of_rows), {directions, directions});
  PointwiseFunction size_of_cosine(2), share(2);
  size_of_cosine.set_result(size_of_cosine.apply(PointwiseCode::kMultiply,
                                                 size_of_cosine.apply(PointwiseCode::kAbs, size_of_cosine.input(0)),
                                                 size_of_cosine.input(1)));
  const ValueId sizes = ops::pointwise(graph, size_of_cosine, {cosines, pairs(graph, size)}, DType::kFloat32);
  const ValueId total = graph.apply_one(ops::Reshape({1}), {graph.apply_one(ops::SumTo({1, 1}, false), {sizes})});
  const double count = static_cast<double>(size) * static_cast<double>(size - 1);
  const ValueId penalty =
      graph.apply_one(ops::Scale(static_cast<float>(regularizer.factor / count)), {total});
  return product(graph, graph.apply_one(ops::FullMask({1}), {batched}), penalty);
}

}  // namespace mirrortrain
