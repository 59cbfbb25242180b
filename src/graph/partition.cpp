#include "graph/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "graph/op_parts.h"
#include "graph/ops/arrange.h"
#include "graph/ops/collective.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

using Cost = double;
constexpr Cost kImpossible = std::numeric_limits<Cost>::infinity();
/// To compute with parts of a weight comes before all that is exchanged: it is what places of this axis are for.
constexpr Cost kDividesWeight = -1e18;
/// Examples that a place is assumed to have, to compare their values with weights.
constexpr Cost kRows = 32;

/// One rewriting of a whole graph into a place's.
class Partitioning {
 public:
  Partitioning(const Graph& whole, const ModelPlace& place, ShardedVariables& variables, ChosenWays& ways)
      : whole_(whole),
        place_(place),
        variables_(variables),
        ways_(ways),
        are_chosen_(ways.size() == whole.nodes().size()),
        views_(whole.values().size()),
        held_(whole.values().size()) {
    for (std::size_t i = 0; i < variables_.ids.size(); ++i) views_[index(*variables_.ids[i])] = i;
    ways_.resize(whole.nodes().size(), 0);
  }

  Graph run(const KeptValues& kept) {
    const std::vector<Graph::Value>& values = whole_.values();
    for (ValueId id = 0; id < static_cast<ValueId>(values.size()); ++id) {
      const Graph::Value& value = values[index(id)];
      if (value.source == Graph::Source::kInput) {
        held_[index(id)] = {graph_.input(value.name, value.spec), Sharding::whole()};
      }
    }
    for (std::size_t number = 0; number < whole_.nodes().size(); ++number) {
      const Node& node = whole_.nodes()[number];
      graph_.set_layer(node.layer);
      if (is_view_of_variable(node)) {
        views_[index(node.outputs[0])] = views_[index(node.inputs[0])];
      } else {
        add(node, chosen_way(node, ways_[number]));
      }
    }
    std::vector<std::pair<ValueId*, ValueId>> renamed;
    for (ValueId* const id : kept.whole) {
      if (*id == kNoValue) continue;
      renamed.emplace_back(id, ops::not_of_collective(graph_, converted(*id, Sharding::whole())));
    }
    for (const auto& [id, variable] : kept.written) {
      const ValueId part = converted(*id, variables_.shardings[variable].value_or(Sharding::whole()));
      renamed.emplace_back(id, ops::not_of_collective(graph_, part));
    }
    for (std::size_t i = 0; i < variables_.ids.size(); ++i) renamed.emplace_back(variables_.ids[i], local_variable(i));
    for (const auto& [id, now] : renamed) *id = now;
    return std::move(graph_);
  }

 private:
  struct Held {
    ValueId id = kNoValue;
    Sharding sharding;
  };

  const ValueSpec& spec(ValueId value) const { return whole_.spec(value); }
  const Shape& shape(ValueId value) const { return whole_.spec(value).shape; }
  bool is_view(ValueId value) const { return views_[index(value)].has_value(); }
  bool is_view_of_variable(const Node& node) const {
    return dynamic_cast<const ops::Reshape*>(node.op.get()) != nullptr && is_view(node.inputs[0]);
  }
  ValueId variable_of_view(ValueId value) const { return *variables_.ids[*views_[index(value)]]; }
  const std::optional<Sharding>& chosen_of_view(ValueId value) const {
    return variables_.shardings[*views_[index(value)]];
  }

  /// How a value is divided so far; kWhole for a variable that is not divided yet.
  Sharding sharding_of(ValueId value) const {
    if (!is_view(value)) return held_[index(value)].sharding;
    const Sharding chosen = chosen_of_view(value).value_or(Sharding::whole());
    const Sharding view = reshaped(chosen, shape(variable_of_view(value)), shape(value));
    return view.kind == Sharding::Kind::kOwn ? Sharding::whole() : view;  // gathered then
  }
  bool is_undecided(ValueId value) const { return is_view(value) && !chosen_of_view(value); }

  /// The elements of an axis of a view that belong to one of the variable's.
  std::int64_t unit_of(ValueId value, std::size_t axis) const {
    const Sharding held = sharding_of(value);
    if (held.is_along(axis)) return held.unit;
    if (!is_undecided(value)) return 1;
    const Shape& of_variable = shape(variable_of_view(value));
    for (std::size_t i = 0; i < of_variable.rank(); ++i) {
      const Sharding view = reshaped(Sharding::along(i), of_variable, shape(value));
      if (view.is_along(axis)) return view.unit;
    }
    return 1;
  }

  /// Elements that are exchanged if a value is wanted in this way, or what dividing a variable is worth.
  Cost cost(ValueId value, const Sharding& wanted) {
    const Cost elements = static_cast<Cost>(shape(value).elements()) * (spec(value).batched ? kRows : 1);
    if (!wanted.fits(shape(value), place_.count)) return kImpossible;
    if (is_undecided(value)) {
      if (wanted.has_all()) return 0;
      const ValueId variable = variable_of_view(value);
      const Sharding of_variable = reshaped(wanted, shape(value), shape(variable));
      if (!of_variable.is_divided() || !of_variable.fits(shape(variable), place_.count)) return kImpossible;
      return shape(variable).rank() > 1 ? kDividesWeight : 0;
    }
    const Sharding held = sharding_of(value);
    if (same_parts(shape(value), held, wanted, place_.count)) {
      if (is_view(value) && wanted.is_divided() && shape(variable_of_view(value)).rank() > 1) return kDividesWeight;
      return wanted.kind == Sharding::Kind::kCopied && !is_copied(value) ? 2 * elements : 0;
    }
    if (held.kind == Sharding::Kind::kOwn || wanted.kind == Sharding::Kind::kOwn) return kImpossible;
    const Cost gathered = held.has_all() ? 0 : elements;
    const bool reads_copy = wanted.kind != Sharding::Kind::kWhole && !is_copied(value);
    return gathered + (reads_copy ? 2 * elements : 0);
  }

  Cost cost(const Node& node, const OpParts& way) {
    Cost total = 2 * kRows * static_cast<Cost>(way.summed);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoValue) total += cost(node.inputs[i], way.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!way.outputs[i].fits(shape(node.outputs[i]), place_.count)) return kImpossible;
    }
    return total;
  }

  /// `number`: of the way, if they are chosen; else it is set.
  OpParts chosen_way(const Node& node, std::size_t& number) {
    DividedNode divided{whole_, node, place_.count, {}, [&](std::size_t input, std::size_t axis) {
                          return unit_of(node.inputs[input], axis);
                        }};
    for (const ValueId input : node.inputs) {
      divided.held.push_back(input == kNoValue ? Sharding::whole() : sharding_of(input));
    }
    std::vector<OpParts> ways = {
        {std::vector<Sharding>(node.inputs.size()), std::vector<Sharding>(node.outputs.size())}};
    for (OpParts& way : parts_of_op(divided)) {
      way.inputs.resize(node.inputs.size());
      ways.push_back(std::move(way));
    }
    if (!are_chosen_) {
      const auto cheaper = [&](const OpParts& one, const OpParts& other) {
        return cost(node, one) < cost(node, other);
      };
      number = static_cast<std::size_t>(std::ranges::min_element(ways, cheaper) - ways.begin());
    }
    if (number >= ways.size()) throw Error("a node is not divided as in a graph of other shapes");
    return std::move(ways[number]);
  }

  void add(const Node& node, const OpParts& way) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i] == kNoValue ? kNoValue : converted(node.inputs[i], way.inputs[i]));
    }
    const std::vector<ValueId> outputs =
        way.lower ? way.lower(graph_, std::move(inputs), place_) : graph_.apply(node.op, std::move(inputs));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      held_[index(node.outputs[i])] = {outputs[i], way.outputs[i]};
    }
  }

  /// The variable's part here, added to the graph when it is first needed; whole if nothing has divided it.
  ValueId local_variable(std::size_t variable) {
    const ValueId id = *variables_.ids[variable];
    Held& held = held_[index(id)];
    if (held.id != kNoValue) return held.id;
    std::optional<Sharding>& sharding = variables_.shardings[variable];
    if (!sharding) sharding = Sharding::whole();
    const Graph::Value& value = whole_.value(id);
    if (!sharding->fits(value.spec.shape, place_.count)) {
      throw Error(fmt::format("the axis {} of '{}', of shape {}, has fewer elements than the {} places of the model",
                              sharding->axis, value.name, value.spec.shape.text(), place_.count));
    }
    held = {graph_.variable({value.name, sharding->local(value.spec.shape, place_), true}), *sharding};
    return held.id;
  }

  /// The view's part here; whole where its parts are none of a variable's.
  Held view(ValueId value, const Sharding& wanted) {
    const std::size_t number = *views_[index(value)];
    const ValueId variable = *variables_.ids[number];
    std::optional<Sharding>& chosen = variables_.shardings[number];
    if (!chosen) {
      const Sharding divided = reshaped(wanted, shape(value), shape(variable));
      chosen = divided.is_divided() ? divided : Sharding::whole();
    }
    local_variable(number);
    if (value == variable) return held_[index(variable)];
    Held& held = held_[index(value)];
    if (held.id != kNoValue) return held;
    const Sharding sharding = sharding_of(value);
    const ValueId part = sharding.is_divided() ? held_[index(variable)].id : converted(variable, Sharding::whole());
    held = {graph_.apply_one(ops::Reshape(sharding.local(shape(value), place_)), {part}), sharding};
    return held;
  }

  bool is_copied(ValueId value) const { return copied_.contains(value) || !depends_on_variable(value); }

  bool depends_on_variable(ValueId value) const {
    if (depends_.empty()) {
      depends_.resize(whole_.values().size());
      for (const ValueId* const variable : variables_.ids) depends_[index(*variable)] = true;
      for (const Node& node : whole_.nodes()) {
        const bool any = std::ranges::any_of(
            node.inputs, [&](ValueId input) { return input != kNoValue && depends_[index(input)]; });
        for (const ValueId output : node.outputs) depends_[index(output)] = any;
      }
    }
    return depends_[index(value)];
  }

  /// A value as it is wanted; conversions are added once.
  ValueId converted(ValueId value, const Sharding& wanted) {
    const Held held = is_view(value) ? view(value, wanted) : held_[index(value)];
    const Shape& of = shape(value);
    if (held.sharding.has_all()) {
      if (wanted.kind == Sharding::Kind::kWhole) return held.id;
      const ValueId copy = copied(value, held.id);
      return wanted.is_divided() ? part_of_whole(value, copy, wanted) : copy;
    }
    if (same_parts(of, held.sharding, wanted, place_.count)) return held.id;
    const auto [known, is_new] = gathered_.try_emplace(value, kNoValue);
    if (is_new) known->second = gathered(held, of);
    const ValueId whole = known->second;
    if (wanted.kind == Sharding::Kind::kWhole) return whole;
    const ValueId copy = copied(value, whole);
    return wanted.is_divided() ? part_of_whole(value, copy, wanted) : copy;
  }

  ValueId copied(ValueId value, ValueId whole) {
    if (!depends_on_variable(value)) return whole;
    const auto [known, is_new] = copied_.try_emplace(value, kNoValue);
    if (is_new) known->second = graph_.apply_one(ops::CopyToPlaces(), {whole});
    return known->second;
  }

  ValueId part_of_whole(ValueId value, ValueId copy, const Sharding& wanted) {
    const Shape& of = shape(value);
    for (const auto& [known, sharding, part] : parts_) {
      if (known == value && same_parts(of, sharding, wanted, place_.count)) return part;
    }
    const auto [before, after] = wanted.beside(of, place_);
    const ValueId part = graph_.apply_one(ops::Crop(before, after), {copy});
    parts_.push_back({value, wanted, part});
    return part;
  }

  /// All of a value from every place's part.
  ValueId gathered(const Held& held, const Shape& of) {
    const auto [dtype, local, batched] = graph_.spec(held.id);
    const std::size_t axis = held.sharding.axis;
    if (!batched) {  // zeros take the places of the other parts
      const auto [before, after] = held.sharding.beside(of, place_);
      return ops::sum_of_places(graph_, graph_.apply_one(ops::Pad(before, after), {held.id}));
    }
    const auto size = [&](int place) { return held.sharding.part(of, {place, place_.count}).count; };
    const std::int64_t largest = size(0);
    const bool is_even = size(place_.count - 1) == largest;
    const auto beyond = [&](int place) {  // elements that the largest part has more
      std::vector<std::int64_t> more(of.rank(), 0);
      more[axis] = largest - size(place);
      return more;
    };
    const std::vector<std::int64_t> none(of.rank(), 0);
    const bool is_rounded = dtype == DType::kBfloat16;
    ValueId own = is_even ? held.id : graph_.apply_one(ops::Pad(none, beyond(place_.index)), {held.id});
    own = ops::exchangeable(graph_, own);
    std::vector<ValueId> parts = graph_.apply(ops::AllGather(ops::Axis::kModel, place_.count, place_.index), {own});
    for (int place = 0; !is_even && place < place_.count; ++place) {
      ValueId& part = parts[static_cast<std::size_t>(place)];
      part = graph_.apply_one(ops::Crop(none, beyond(place)), {part});
    }
    const ValueId whole = graph_.apply_one(ops::Concatenate(axis), std::move(parts));
    return is_rounded ? graph_.apply_one(ops::Cast(DType::kBfloat16), {whole}) : whole;
  }

  struct Part {
    ValueId value;
    Sharding sharding;
    ValueId part;
  };

  const Graph& whole_;
  const ModelPlace place_;
  ShardedVariables& variables_;
  ChosenWays& ways_;
  const bool are_chosen_;
  Graph graph_;
  std::vector<std::optional<std::size_t>> views_;  ///< by value: the variable that it is, or is reshaped from
  std::vector<Held> held_;                         ///< by value, in graph_
  std::map<ValueId, ValueId> gathered_, copied_;   ///< by value
  std::vector<Part> parts_;
  mutable std::vector<bool> depends_;  ///< by value: on a variable
};

}  // namespace

Graph partition(const Graph& graph, const ModelPlace& place, ShardedVariables& variables, const KeptValues& kept,
                ChosenWays* ways) {
  ChosenWays own;
  return Partitioning(graph, place, variables, ways == nullptr ? own : *ways).run(kept);
}

}  // namespace mirrortrain
