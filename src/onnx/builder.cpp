#include "onnx/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace mirrortrain::onnx {
namespace {

std::string order_text(const Ints& permutation) { return fmt::format("Transpose {}", fmt::join(permutation, " ")); }

Ints inverse_of(const Ints& permutation) {
  Ints inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

void note_inner_inputs(const Node& node, std::set<std::string>& read);

void note_inputs(const Node& node, std::set<std::string>& read) {
  read.insert(node.inputs.begin(), node.inputs.end());
  note_inner_inputs(node, read);
}

/// What the graphs of a node read.
void note_inner_inputs(const Node& node, std::set<std::string>& read) {
  for (const auto& [name, value] : node.attributes) {
    const auto* const inner = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (inner == nullptr) continue;
    for (const Node& one : (*inner)->nodes) note_inputs(one, read);
    for (const ValueInfo& output : (*inner)->outputs) read.insert(output.name);
  }
}

}  // namespace

Builder::Builder(std::string name) : names_(std::make_shared<std::map<std::string, int>>()) {
  graph_.name = std::move(name);
}

Builder Builder::inner(std::string name) {
  Builder made(std::move(name));
  made.names_ = names_;
  made.scope_ = scope_;
  return made;
}

std::string Builder::unique(const std::string& wanted) {
  std::string name = wanted;
  while (!names_->emplace(name, 0).second) name = fmt::format("{}_{}", wanted, ++(*names_)[wanted]);
  return name;
}

void Builder::add_input(ValueInfo info) {
  names_->emplace(info.name, 0);
  graph_.inputs.push_back(std::move(info));
}

std::vector<std::string> Builder::add_many(const std::string& op_type, std::vector<std::string> inputs,
                                           std::size_t outputs, Attributes attributes, const std::string& domain) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  std::vector<std::size_t>& alike = nodes_of_[fmt::format("{} {}", op_type, fmt::join(inputs, " "))];
  for (const std::size_t node : alike) {
    if (graph_.nodes[node].attributes == attributes && graph_.nodes[node].inputs == inputs) {
      return graph_.nodes[node].outputs;
    }
  }
  alike.push_back(graph_.nodes.size());
  const std::string name = unique(scope_.empty() ? op_type : scope_ + "/" + op_type);
  std::vector<std::string> made{name};
  for (std::size_t i = 1; i < outputs; ++i) made.push_back(unique(fmt::format("{}:{}", name, i)));
  graph_.nodes.push_back({name, op_type, domain, std::move(inputs), made, std::move(attributes)});
  return made;
}

std::string Builder::add(const std::string& op_type, std::vector<std::string> inputs, Attributes attributes,
                         const std::string& domain) {
  return add_many(op_type, std::move(inputs), 1, std::move(attributes), domain).front();
}

void Builder::name_output(const std::string& value, const std::string& name) {
  named_.insert(name);
  graph_.nodes.push_back({name, "Identity", "", {value}, {name}, {}});
}

std::string Builder::constant(const Tensor& tensor) {
  std::string key = fmt::format("{} [{}] ", static_cast<int>(tensor.type), fmt::join(tensor.dims, ", "));
  key += tensor.bytes;
  const auto [found, is_new] = constants_.emplace(std::move(key), "");
  if (is_new) {
    found->second = unique(fmt::format("constant/{}", constants_.size()));
    graph_.initializers.emplace_back(found->second, tensor);
  }
  return found->second;
}

std::string Builder::vector(const Ints& values) { return constant(integers({std::ssize(values)}, values)); }

void Builder::add_initializer(const std::string& name, Tensor tensor) {
  names_->emplace(name, 0);
  graph_.initializers.emplace_back(name, std::move(tensor));
}

std::string Builder::transpose(const std::string& value, const Ints& permutation) {
  if (std::ranges::is_sorted(permutation)) return value;
  const auto made = made_of_.find(value);
  if (made != made_of_.end() && made->second.second == order_text(inverse_of(permutation))) return made->second.first;
  const std::string result = add("Transpose", {value}, {{"perm", permutation}});
  made_of_[result] = {value, order_text(permutation)};
  return result;
}

std::string Builder::reversed(const std::string& value, std::int64_t axis) {
  const std::string how = fmt::format("reversed {}", axis);
  const auto made = made_of_.find(value);
  if (made != made_of_.end() && made->second.second == how) return made->second.first;
  constexpr std::int64_t kBeforeFirst = std::numeric_limits<std::int64_t>::min();
  const std::string result = add("Slice", {value, vector({-1}), vector({kBeforeFirst}), vector({axis}), vector({-1})});
  made_of_[result] = {value, how};
  return result;
}

std::string Builder::reshape(const std::string& value, const Ints& shape) {
  return add("Reshape", {value, vector(shape)});
}
std::string Builder::unsqueeze(const std::string& value, const Ints& axes) {
  return add("Unsqueeze", {value, vector(axes)});
}
std::string Builder::squeeze(const std::string& value, const Ints& axes) {
  return add("Squeeze", {value, vector(axes)});
}
std::string Builder::sum(const std::string& value, const Ints& axes, bool keeps_axes) {
  return add("ReduceSum", {value, vector(axes)}, {{"keepdims", std::int64_t{keeps_axes}}});
}
std::string Builder::slice(const std::string& value, const Ints& starts, const Ints& ends, const Ints& axes) {
  return add("Slice", {value, vector(starts), vector(ends), vector(axes)});
}
std::string Builder::cast(const std::string& value, ElementType to) {
  return add("Cast", {value}, {{"to", std::int64_t{static_cast<std::int32_t>(to)}}});
}

/// Nodes give values their names at once where they can: of values that are no inputs, no constants and no outputs
/// already, and that no node's graph reads.
void Builder::name_at_once() {
  std::set<std::string> read_inside;
  for (const Node& node : graph_.nodes) note_inner_inputs(node, read_inside);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!named_.contains(graph_.nodes[i].name)) continue;
    const std::string before = graph_.nodes[i].inputs[0], name = graph_.nodes[i].outputs[0];
    const auto makes = [&](const Node& node) { return std::ranges::count(node.outputs, before) > 0; };
    const auto maker = std::ranges::find_if(graph_.nodes, makes);
    if (maker == graph_.nodes.end() || named_.contains(before) || read_inside.contains(before)) continue;
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i--));
    for (Node& node : graph_.nodes) {
      std::ranges::replace(node.inputs, before, name);
      std::ranges::replace(node.outputs, before, name);
    }
  }
}

Graph Builder::take() {
  name_at_once();
  std::set<std::string> read;
  for (const ValueInfo& output : graph_.outputs) read.insert(output.name);
  std::vector<Node> kept;
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](const std::string& output) { return read.contains(output); })) continue;
    note_inputs(*node, read);
    kept.push_back(std::move(*node));
  }
  graph_.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  std::erase_if(graph_.initializers, [&](const auto& one) { return !read.contains(one.first); });
  return std::move(graph_);
}

}  // namespace mirrortrain::onnx
