#include "model/losses/overlap.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::losses {
namespace {

/// By axis, the batch first: whether it is summed over. Throws Error for axes that do not exist.
std::vector<bool> summed_axes(const Axes& axes, const Shape& example) {
  const std::size_t rank = example.rank() + 1;
  std::vector<bool> summed(rank, !axes.has_value());
  if (!axes) return summed;
  const auto* const one = std::get_if<std::int64_t>(&*axes);
  for (const std::int64_t axis : one ? std::vector{*one} : std::get<std::vector<std::int64_t>>(*axes)) {
    const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (place < 0 || place >= static_cast<std::int64_t>(rank)) {
      throw Error(fmt::format("expected axes from 0, the batch, to {}, as the output of an example is {}, found {}",
                              rank - 1, example.text(), axis));
    }
    if (summed[static_cast<std::size_t>(place)]) throw Error(fmt::format("the axis {} is listed twice", axis));
    summed[static_cast<std::size_t>(place)] = true;
  }
  return summed;
}

}  // namespace

config::Section<Overlap> Overlap::section() {
  return config::Section<Overlap>("The axes of a loss of sums.")
      .key(
          "axis", &Overlap::axis,
          "The axis or axes over which sums are taken, counted from 0, the batch: [1, 2, 3] of pictures gives the loss "
          "of each, [0, 1, 2] that of each channel. null: all of them, which gives one value for the global batch, on "
          "any number of replicas.")
      .include<LossCommon>();
}

bool Overlap::is_of_batch(const Shape& example) const { return summed_axes(axis, example)[0]; }

std::vector<ValueId> Overlap::of_sums(Graph& graph, const std::string& formula, ValueId output, ValueId labels,
                                      ValueId present) const {
  constexpr DType kDtype = DType::kFloat32;
  const Shape shape = graph.spec(output).shape;
  const std::vector<bool> summed = summed_axes(axis, shape);
  std::vector<std::int64_t> kept = shape.dims();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (summed[i + 1]) kept[i] = 1;
  }
  const Shape target(std::move(kept));
  formula::Values values{{"y_pred", output}, {"y_true", labels}};
  if (present != kNoValue) values.emplace("present", present);
  const auto sum_of = [&](std::string_view terms) {
    const bool is_value = terms.find('*') == terms.npos && present == kNoValue;
    const ValueId all =
        is_value ? values.at(std::string(terms))
                 : formula::add_formula(
                       graph, present == kNoValue ? std::string(terms) : fmt::format("where(present, {}, 0)", terms),
                       values, kDtype);
    if (!summed[0]) return graph.apply_one(ops::SumTo(target, true), {all});
    const ValueId own = graph.apply_one(ops::SumTo(target, false), {all});
    const ValueId sum = graph.apply_one(ops::AllReduce(ops::Axis::kData), {own});
    const ValueId rows = graph.apply_one(ops::FullMask(target), {labels});  // every example has the sum
    return graph.apply_one(ops::Combine(ops::CombineKind::kMultiply), {rows, sum});
  };
  const ValueId both = sum_of("y_true * y_pred"), of_true = sum_of("y_true"), of_pred = sum_of("y_pred");
  const ValueId loss =
      formula::add_formula(graph, formula, {{"both", both}, {"of_true", of_true}, {"of_pred", of_pred}}, kDtype);
  // One position for each number, as Keras's reductions count them.
  const ValueId value = graph.apply_one(ops::Reshape(Shape{target.elements(), 1}), {loss});
  return {value, value};
}

config::Section<Dice> Dice::section() {
  return config::Section<Dice>(
             "Dice loss: 1 - 2 * sum(label * output) / (sum(label) + sum(output)), for probabilities.")
      .include<Overlap>();
}

std::vector<ValueId> Dice::inputs(Graph& graph, ValueId output, ValueId labels, ValueId present) const {
  return of_sums(graph, "1 - 2 * both / (of_true + of_pred + 1e-7)", output, labels, present);
}

config::Section<Tversky> Tversky::section() {
  return config::Section<Tversky>(
             "Tversky loss: the Dice loss with a weight for each kind of error, for probabilities: 1 - both / (both + "
             "alpha * missed + beta * wrong).")
      .key("alpha", &Tversky::alpha, "Weight of labels that the output misses, sum((1 - output) * label).",
           config::at_least(0))
      .key("beta", &Tversky::beta, "Weight of outputs that are wrong, sum(output * (1 - label)).", config::at_least(0))
      .include<Overlap>();
}

std::vector<ValueId> Tversky::inputs(Graph& graph, ValueId output, ValueId labels, ValueId present) const {
  return of_sums(
      graph,
      fmt::format("1 - both / (both + {:.9g} * (of_true - both) + {:.9g} * (of_pred - both) + 1e-7)", alpha, beta),
      output, labels, present);
}

}  // namespace mirrortrain::losses
