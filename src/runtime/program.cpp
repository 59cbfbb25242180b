#include "runtime/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/arena.h"

namespace mirrortrain {
/// Chooses kernels node by node and collects the lifetimes of tensors in the arena, then plans it.
class Program::Lowering {
 public:
  Lowering(Program& program, const Graph& graph, const std::vector<ValueId>& outputs, const KernelRegistry& registry,
           int threads)
      : program_(program),
        graph_(graph),
        outputs_(outputs),
        registry_(registry),
        threads_(threads),
        live_(liveness_of(graph, outputs)),
        bound_as_(graph.values().size(), kNoValue),
        lifetime_of_(graph.values().size(), kNone) {
    for (const ValueId output : outputs) bind_output(output);
    for (const Node& node : graph.nodes()) {
      if (!node.op->is_collective()) continue;
      for (const ValueId output : node.outputs) bind_output(output);
    }
  }

  void run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (graph_.node(id).op->is_collective()) {
        require_complete(graph_.node(id));
        program_.segment_ends_.push_back(program_.steps_.size());
      }
      if (is_step(graph_.node(id), live_)) lower(id);
    }
    for (const auto& [from, to] : copies_) {
      program_.copies_.push_back({operand(from, true), {view(to), {Place::Kind::kBound, index(to)}}});
      program_.complete_after_[to] = program_.steps_.size();
      touch(from);
    }
    const ArenaPlan plan = plan_arena(lifetimes_);
    program_.offsets_ = plan.offsets;
    program_.arena_bytes_ = plan.bytes;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Binds the output to outside storage. If its root is already bound to another output, it is copied at the end.
  void bind_output(ValueId output) {
    const ValueId root = root_of(output);
    if (graph_.value(root).source == Graph::Source::kNode && graph_.value(root).producer < 0) {
      throw Error(fmt::format("no node computes the program's output {}", output));
    }
    if (graph_.value(root).source == Graph::Source::kNode && bound_as_[index(root)] == kNoValue) {
      bound_as_[index(root)] = output;
    } else if (bound_as_[index(root)] != output) {
      copies_.emplace_back(root, output);
    }
  }

  /// A collective reads its inputs where the program writes its outputs, at the end of a segment.
  void require_complete(const Node& node) const {
    for (const ValueId input : node.inputs) {
      if (std::ranges::count(outputs_, input) == 0) continue;
      if (bound_as_[index(root_of(input))] == input && program_.complete_after_.contains(input)) continue;
      throw Error(fmt::format("{}{}: its input must be computed by an op, and be an output of the program once alone",
                              node.layer.empty() ? "" : fmt::format("layer {}: ", node.layer), node.op->name()));
    }
  }

  ValueId root_of(ValueId value) const { return live_.roots[index(value)]; }
  /// Whether its memory is bound from outside because no node here computes it.
  bool is_given(ValueId root) const {
    return graph_.value(root).source != Graph::Source::kNode || graph_.value(root).producer < 0;
  }

  TensorView view(ValueId value) const {
    const ValueSpec& spec = graph_.spec(value);
    return {spec.dtype, spec.shape_at(program_.rows_), nullptr};
  }

  std::size_t new_lifetime(std::size_t bytes) {
    lifetimes_.push_back({bytes, program_.steps_.size(), program_.steps_.size()});
    return lifetimes_.size() - 1;
  }

  /// The place of `value` for the step being lowered.
  Operand operand(ValueId value, bool reading) {
    const ValueId root = root_of(value);
    if (is_given(root)) return {view(value), {Place::Kind::kBound, index(root)}};
    if (bound_as_[index(root)] != kNoValue) {
      return {view(value), {Place::Kind::kBound, index(bound_as_[index(root)])}};
    }
    std::size_t& lifetime = lifetime_of_[index(root)];
    if (!reading && lifetime == kNone) lifetime = new_lifetime(graph_.spec(root).bytes_at(program_.rows_));
    lifetimes_[lifetime].last = program_.steps_.size();
    return {view(value), {Place::Kind::kArena, lifetime}};
  }

  /// The lifetime of an input that ends at this node and whose storage output 0 reuses; kNone if there is none.
  std::size_t inherited(NodeId id, const Kernel& kernel) const {
    const Node& node = graph_.node(id);
    const ValueId output = node.outputs[0];
    if (bound_as_[index(output)] != kNoValue) return kNone;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue || !node.op->may_overwrite(i) || kernel.derived_form(i)) continue;
      const std::size_t lifetime = lifetime_of_[index(root_of(input))];
      const bool dies = live_.last_reader[index(root_of(input))] == id;
      if (lifetime != kNone && dies && view(input).bytes() == view(output).bytes()) return lifetime;
    }
    return kNone;
  }

  void lower(NodeId id) {
    const Node& node = graph_.node(id);
    Step step;
    step.layer = node.layer;
    step.op = node.op->name();
    KernelSpecs specs;
    specs.threads = threads_;
    for (const ValueId input : node.inputs) {
      const bool present = input != kNoValue;
      step.inputs.push_back(present ? operand(input, true) : Operand{{DType::kFloat32, Shape{0}, nullptr}, {}});
      specs.inputs.push_back(step.inputs.back().view);
      specs.input_present.push_back(present);
    }
    for (const ValueId output : node.outputs) specs.outputs.push_back(view(output));
    try {
      step.kernel = registry_.make(*node.op, specs);
    } catch (const Error& error) {
      throw Error(node.layer.empty() ? error.what() : fmt::format("layer {}: {}", node.layer, error.what()));
    }
    lifetime_of_[index(node.outputs[0])] = inherited(id, *step.kernel);
    for (const ValueId output : node.outputs) {
      step.outputs.push_back(live_.needed[index(output)] ? operand(output, false) : Operand{view(output), {}});
    }
    add_derived_forms(node, step);
    if (const std::size_t bytes = step.kernel->workspace_bytes(); bytes > 0) {
      step.workspace = {Place::Kind::kArena, new_lifetime(bytes)};
    }
    program_.steps_.push_back(std::move(step));
    for (const ValueId input : node.inputs) touch(input);
    for (const ValueId output : node.outputs) touch(output);
  }

  /// A program's output is final after the last step, or copy, for which this is called.
  void touch(ValueId value) {
    const ValueId output = value == kNoValue ? kNoValue : bound_as_[index(root_of(value))];
    if (output == kNoValue) return;
    program_.first_access_.try_emplace(output, std::max<std::size_t>(program_.steps_.size(), 1) - 1);
    program_.complete_after_[output] = program_.steps_.size();
  }

  void add_derived_forms(const Node& node, Step& step) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      std::optional<DerivedForm> form = step.kernel->derived_form(i);
      if (!form) continue;
      const ValueId root = root_of(node.inputs[i]);
      if (graph_.value(root).source == Graph::Source::kVariable) {
        step.inputs[i].place = {Place::Kind::kDerived, derived_copy(root, std::move(*form))};
      } else {
        const Operand canonical = step.inputs[i];
        step.inputs[i].place = {Place::Kind::kArena, new_lifetime(form->bytes)};
        step.refreshes.push_back({i, std::move(*form), canonical});
      }
    }
  }

  std::size_t derived_copy(ValueId variable, DerivedForm form) {
    auto& copies = program_.derived_copies_;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i].variable == variable && copies[i].form.key == form.key) return i;
    }
    copies.push_back({variable, std::move(form)});
    return copies.size() - 1;
  }

  Program& program_;
  const Graph& graph_;
  const std::vector<ValueId>& outputs_;
  const KernelRegistry& registry_;
  int threads_;
  Liveness live_;
  std::vector<ValueId> bound_as_;         ///< by root: the output whose storage it uses
  std::vector<std::size_t> lifetime_of_;  ///< by root; kNone if it is not in the arena
  std::vector<Lifetime> lifetimes_;
  std::vector<std::pair<ValueId, ValueId>> copies_;
};

Program::Program(const Graph& graph, std::int64_t rows, const std::vector<ValueId>& outputs,
                 const KernelRegistry& registry, int threads)
    : rows_(rows) {
  Lowering(*this, graph, outputs, registry, threads).run();
}

std::size_t Program::complete_after(ValueId output) const {
  const auto found = complete_after_.find(output);
  if (found == complete_after_.end()) throw Error(fmt::format("value {} is no output of the program", output));
  return found->second;
}

std::optional<std::size_t> Program::first_read(ValueId variable) const {
  const auto is_of_variable = [&](const Operand& operand) {
    const auto& [kind, number] = operand.place;
    if (kind == Place::Kind::kDerived) return derived_copies_[number].variable == variable;
    return kind == Place::Kind::kBound && number == index(variable);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (std::ranges::any_of(steps_[i].inputs, is_of_variable)) return i;
  }
  const bool is_output = std::ranges::any_of(copies_, is_of_variable, &Copy::from);
  return is_output ? std::optional(steps_.size()) : std::nullopt;
}

std::optional<Program::Segments> Program::segments_of(ValueId bound) const {
  const auto first = first_access_.find(bound);
  if (first == first_access_.end()) return std::nullopt;
  const auto segment_of = [this](std::size_t step) {
    const auto next = std::ranges::upper_bound(segment_ends_, step);
    return static_cast<std::size_t>(next - segment_ends_.begin());
  };
  return Segments{segment_of(first->second), segment_of(complete_after(bound) - 1)};
}

}  // namespace mirrortrain
