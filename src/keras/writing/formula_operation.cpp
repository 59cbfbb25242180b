#include "keras/writing/formula_operation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/formula/expression.h"

namespace mirrortrain::keras {
namespace {

using formula::Expression;
using formula::Index;

Json number_or_null(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(); }

Json slice_json(const std::optional<std::int64_t>& start, const std::optional<std::int64_t>& stop) {
  return {{"class_name", "__slice__"},
          {"config", {{"start", number_or_null(start)}, {"stop", number_or_null(stop)}, {"step", nullptr}}}};
}

Json index_json(const Index& index) {
  switch (index.kind) {
    case Index::Kind::kRange: return slice_json(index.first, index.last);
    case Index::Kind::kEllipsis: return {{"class_name", "__ellipsis__"}, {"config", Json::object()}};
    case Index::Kind::kNewAxis: return nullptr;
    default: return *index.first;
  }
}

FormulaOperation part_of(const Expression& tree) {
  Json key = Json::array({slice_json({}, {})});  // all of the batch
  for (const Index& index : tree.indices) key.push_back(index_json(index));
  return {"GetItem", Json::object(), std::move(key)};
}

std::optional<FormulaOperation> reduction_of(const Expression& tree, std::size_t rank) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kReductions = {
      {{"mean", "Mean"}, {"sum", "Sum"}, {"max", "Max"}, {"min", "Min"}}};
  const auto found = std::ranges::find(kReductions, tree.name, &std::pair<std::string_view, std::string_view>::first);
  if (found == kReductions.end()) return std::nullopt;
  Json axes = Json::array();
  if (tree.axes) {
    for (const std::int64_t axis : *tree.axes) axes.push_back(axis < 0 ? axis : axis + 1);
  } else {
    for (std::size_t axis = 1; axis <= rank; ++axis) axes.push_back(axis);
  }
  Json config = {{"axis", axes.size() == 1 ? axes[0] : axes}, {"keepdims", tree.keeps_axes}};
  if (found->second == "Max" || found->second == "Min") config["initial"] = nullptr;
  return FormulaOperation{found->second, std::move(config)};
}

bool is_input(const Expression& tree) {
  return tree.kind == Expression::Kind::kName && (tree.name == "x" || tree.name == "x0");
}

}  // namespace

std::optional<FormulaOperation> operation_of(const std::string& formula, std::size_t rank) {
  const Expression tree = formula::parse(formula);
  if (tree.arguments.size() != 1 || !is_input(tree.arguments[0])) return std::nullopt;
  if (tree.kind == Expression::Kind::kIndex) return part_of(tree);
  return tree.kind == Expression::Kind::kCall ? reduction_of(tree, rank) : std::nullopt;
}

}  // namespace mirrortrain::keras
