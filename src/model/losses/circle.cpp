#include "model/losses/circle.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/batch_row.h"
#include "graph/ops/collective.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/layers/along_axis.h"

namespace mirrortrain::losses {
namespace {

/// What all rows of the global batch have: [rows, numbers], of each row's [numbers].
ValueId of_all_rows(Graph& graph, ValueId where, ValueId value) {
  const ValueId own = graph.apply_one(ops::DenseWeightGradient(false), {where, value});
  return graph.apply_one(ops::AllReduce(ops::Axis::kData), {own});
}

}  // namespace

config::Section<Circle> Circle::section() {
  return config::Section<Circle>(
             "Circle loss of embeddings of length 1, as of unit_normalization, whose labels are numbers of groups: "
             "those of a group become alike, others unlike. Examples are compared with all of the global batch.")
      .key("gamma", &Circle::gamma, "Scale of the similarities.", config::greater_than(0))
      .key("margin", &Circle::margin, "Similarities are relaxed by this much.", config::between(0, 1))
      .key("remove_diagonal", &Circle::remove_diagonal, "Whether an example is not compared with itself.")
      .include<LossCommon>();
}

std::vector<ValueId> Circle::inputs(Graph& graph, ValueId output, ValueId labels, ValueId present,
                                    std::int64_t batch) const {
  if (graph.spec(output).shape.rank() != 1) {
    throw Error(fmt::format("expected a vector for each example, found the output shape {}; add - flatten",
                            graph.spec(output).shape.text()));
  }
  constexpr DType kDtype = DType::kFloat32;
  const ValueId where = graph.apply_one(ops::BatchRow(batch), {labels});
  const ValueId number = graph.apply_one(ops::Reshape({1}), {graph.apply_one(ops::Cast(kDtype), {labels})});
  ValueId exists = present == kNoValue ? graph.apply_one(ops::FullMask(Shape{1}), {output})
                                       : graph.apply_one(ops::Reshape({1}), {present});
  const ValueId pair = graph.apply_one(ops::Concatenate(0), {number, exists});
  const ValueId pairs = of_all_rows(graph, where, pair);
  const ValueId products = graph.apply_one(ops::DenseInputGradient(), {output, of_all_rows(graph, where, output)});
  formula::Values values{
      {"where_is", where},
      {"number", number},
      {"numbers", layers::step(graph, pairs, 1, 0)},
      {"exists", layers::step(graph, pairs, 1, 1)},
      {"d", formula::add_formula(graph, "maximum(1 - products, 0)", {{"products", products}}, kDtype)}};
  // So far below the others that nothing is added, and without the infinite numbers whose differences are none.
  constexpr double kNone = -1e30;
  const auto sum_over = [&](std::string_view others, const std::string& terms) {
    const std::string formula =
        fmt::format("logsumexp(where({}, {}, {:g}), axis=-1, keepdims=true)", others, terms, kNone);
    return formula::add_formula(graph, formula, values, kDtype);
  };
  const ValueId alike =
      sum_over(remove_diagonal ? "exists and numbers == number and not where_is" : "exists and numbers == number",
               fmt::format("{0:.9g} * ({1:.9g} + d) * (d - {1:.9g})", gamma, margin));
  const ValueId unlike =
      sum_over("exists and numbers != number",
               fmt::format("{:.9g} * maximum({:.9g} - d, 0) * ({:.9g} - d)", gamma, 1 + margin, 1 - margin));
  const ValueId loss =
      formula::add_formula(graph, "softplus(alike + unlike)", {{"alike", alike}, {"unlike", unlike}}, kDtype);
  return {loss, loss};
}

ValueId Circle::counted(Graph& graph, ValueId loss) const {
  const ValueId above = formula::add_formula(graph, "loss > 0", {{"loss", loss}}, DType::kFloat32);
  return graph.apply_one(ops::Reshape(Shape{}), {above});
}

}  // namespace mirrortrain::losses
