#include "model/variable_update.h"

#include <utility>
#include <variant>

namespace mirrortrain {
namespace {

Shape without_axis(const Shape& shape, std::size_t from_end) {
  std::vector<std::int64_t> extents = shape.dims();
  extents.erase(extents.end() - static_cast<std::ptrdiff_t>(from_end));
  return Shape(std::move(extents));
}

}  // namespace

int VariableUpdate::slots() const {
  return static_cast<int>(scalar::slot_names(rule).size()) + (traits.averages ? 1 : 0);
}

std::vector<UpdateState> states_of(const VariableUpdate& update, const Shape& shape) {
  if (std::holds_alternative<scalar::Muon>(update.rule)) return {{"momentum", shape}};
  if (!std::holds_alternative<scalar::Adafactor>(update.rule)) return {};
  if (shape.rank() < 2) return {{"velocity", shape}};
  return {{"row", without_axis(shape, 1)}, {"column", without_axis(shape, 2)}};
}

std::vector<std::string> slot_names(const VariableUpdate& update, const Shape& shape) {
  const auto of_rule = scalar::slot_names(update.rule);
  std::vector<std::string> names(of_rule.begin(), of_rule.end());
  if (update.traits.averages) names.emplace_back("average");
  for (UpdateState& state : states_of(update, shape)) names.push_back(std::move(state.name));
  return names;
}

std::vector<float> first_slots(const VariableUpdate& update, const Shape& shape) {
  std::vector<float> values = scalar::first_slots(update.rule);
  if (update.traits.averages) values.push_back(0);  // the first update sets it
  values.resize(values.size() + states_of(update, shape).size());
  return values;
}

}  // namespace mirrortrain
