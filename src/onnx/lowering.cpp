#include "onnx/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace mirrortrain::onnx {

bool has_channels(const ValueSpec& spec) { return spec.batched && (spec.shape.rank() == 3 || spec.shape.rank() == 4); }

Ints to_channels_first(std::size_t axes) {
  Ints order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

Ints to_channels_last(std::size_t axes) {
  Ints order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Lowering::Lowering(const mirrortrain::Graph& graph, Builder& builder, std::string rows_of)
    : graph_(graph), builder_(builder), rows_of_(std::move(rows_of)), forms_(graph.values().size()) {}

Lowering::Forms& Lowering::forms_of(ValueId id) {
  Forms& forms = forms_[index(id)];
  if (!forms.last.empty() || !forms.first.empty()) return forms;
  throw NotInOnnx("it reads a value that is computed in training alone");
}

std::string Lowering::value(ValueId id) {
  if (id == kNoValue) return "";
  Forms& forms = forms_of(id);
  if (forms.last.empty()) forms.last = builder_.transpose(forms.first, to_channels_last(spec(id).shape.rank() + 1));
  return forms.last;
}

std::string Lowering::channels_first(ValueId id) {
  Forms& forms = forms_of(id);
  if (forms.first.empty()) forms.first = builder_.transpose(forms.last, to_channels_first(spec(id).shape.rank() + 1));
  return forms.first;
}

bool Lowering::is_channels_first(ValueId id) const { return id != kNoValue && forms_[index(id)].made_first; }

void Lowering::set(ValueId id, std::string name) { forms_[index(id)] = {std::move(name), "", false}; }
void Lowering::set_channels_first(ValueId id, std::string name) { forms_[index(id)] = {"", std::move(name), true}; }
void Lowering::set(ValueId id, std::string name, bool with_channels_first) {
  with_channels_first ? set_channels_first(id, std::move(name)) : set(id, std::move(name));
}

void Lowering::set_elementwise(const mirrortrain::Node& node,
                               const std::function<std::string(const std::string&)>& apply) {
  const bool first = is_channels_first(node.inputs[0]);
  set(node.outputs[0], apply(first ? channels_first(node.inputs[0]) : value(node.inputs[0])), first);
}

std::int64_t Lowering::axis(ValueId id, std::size_t per_row) const {
  return static_cast<std::int64_t>(per_row) + (spec(id).batched ? 1 : 0);
}

Ints Lowering::axes(ValueId id, const std::vector<std::size_t>& per_row) const {
  Ints all;
  for (const std::size_t one : per_row) all.push_back(axis(id, one));
  return all;
}

Ints Lowering::reshape_target(const ValueSpec& of) const {
  Ints target = of.shape.dims();
  if (of.batched) target.insert(target.begin(), 0);
  return target;
}

const std::string& Lowering::rows() {
  if (rows_.empty()) {
    rows_ = builder_.add("Shape", {rows_of_}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  }
  return rows_;
}

std::string Lowering::filled(const Shape& row_shape, float number) {
  std::string shape = rows();
  if (row_shape.rank() > 0) {
    shape = builder_.add("Concat", {shape, builder_.vector(row_shape.dims())}, {{"axis", std::int64_t{0}}});
  }
  return builder_.add("ConstantOfShape", {shape}, {{"value", floats({1}, {&number, 1})}});
}

}  // namespace mirrortrain::onnx
