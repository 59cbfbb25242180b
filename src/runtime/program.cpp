#include "runtime/program.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/arena.h"

namespace mirrortrain {
namespace {

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

/// Each value's storage: an alias op's output lives where its input does.
std::vector<ValueId> roots_of(const Graph& graph) {
  std::vector<ValueId> roots(graph.values().size());
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<ValueId>(i);
  for (const Node& node : graph.nodes()) {
    if (node.op->is_alias()) roots[index(node.outputs[0])] = roots[index(node.inputs[0])];
  }
  return roots;
}

/// Which values the outputs depend on, themselves included.
std::vector<bool> needed_for(const Graph& graph, const std::vector<ValueId>& outputs) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const ValueId output : outputs) needed[index(output)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    bool any = false;
    for (const ValueId output : node->outputs) any = any || needed[index(output)];
    if (!any) continue;
    for (const ValueId input : node->inputs) {
      if (input != kNoValue) needed[index(input)] = true;
    }
  }
  return needed;
}

}  // namespace

/// Chooses kernels node by node and collects what lives in the arena, then plans it.
class Program::Lowering {
 public:
  Lowering(Program& program, const Graph& graph, const std::vector<ValueId>& outputs, const KernelRegistry& registry,
           int threads)
      : program_(program),
        graph_(graph),
        registry_(registry),
        threads_(threads),
        roots_(roots_of(graph)),
        needed_(needed_for(graph, outputs)),
        bound_as_(graph.values().size(), kNoValue),
        lifetime_of_(graph.values().size(), kNone) {
    for (const ValueId output : outputs) bind_output(output);
  }

  void run() {
    for (const Node& node : graph_.nodes()) {
      if (!node.op->is_alias() && any_needed(node)) lower(node);
    }
    for (const auto& [from, to] : copies_) {
      program_.copies_.push_back({operand(from, true), {view(to), {Place::Kind::kBound, index(to)}}});
    }
    const ArenaPlan plan = plan_arena(lifetimes_);
    program_.offsets_ = plan.offsets;
    program_.arena_bytes_ = plan.bytes;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// The output's storage is outside. If its root already is outside under another name, it is copied at the end.
  void bind_output(ValueId output) {
    const ValueId root = roots_[index(output)];
    if (graph_.value(root).source == Graph::Source::kNode && bound_as_[index(root)] == kNoValue) {
      bound_as_[index(root)] = output;
    } else if (bound_as_[index(root)] != output) {
      copies_.emplace_back(root, output);
    }
  }

  bool any_needed(const Node& node) const {
    for (const ValueId output : node.outputs) {
      if (needed_[index(output)]) return true;
    }
    return false;
  }

  TensorView view(ValueId value) const {
    const ValueSpec& spec = graph_.spec(value);
    return {spec.dtype, spec.shape_at(program_.rows_), nullptr};
  }

  std::size_t new_lifetime(std::size_t bytes) {
    lifetimes_.push_back({bytes, program_.steps_.size(), program_.steps_.size()});
    return lifetimes_.size() - 1;
  }

  /// Where `value` is, for the step that is being lowered.
  Operand operand(ValueId value, bool reading) {
    const ValueId root = roots_[index(value)];
    if (graph_.value(root).source != Graph::Source::kNode) return {view(value), {Place::Kind::kBound, index(root)}};
    if (bound_as_[index(root)] != kNoValue) {
      return {view(value), {Place::Kind::kBound, index(bound_as_[index(root)])}};
    }
    std::size_t& lifetime = lifetime_of_[index(root)];
    if (!reading) lifetime = new_lifetime(graph_.spec(root).bytes_at(program_.rows_));
    lifetimes_[lifetime].last = program_.steps_.size();
    return {view(value), {Place::Kind::kArena, lifetime}};
  }

  void lower(const Node& node) {
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
    for (const ValueId output : node.outputs) {
      step.outputs.push_back(needed_[index(output)] ? operand(output, false) : Operand{view(output), {}});
      specs.outputs.push_back(step.outputs.back().view);
    }
    try {
      step.kernel = registry_.make(*node.op, specs);
    } catch (const Error& error) {
      throw Error(node.layer.empty() ? error.what() : fmt::format("layer {}: {}", node.layer, error.what()));
    }
    add_derived_forms(node, step);
    if (const std::size_t bytes = step.kernel->workspace_bytes(); bytes > 0) {
      step.workspace = {Place::Kind::kArena, new_lifetime(bytes)};
    }
    program_.steps_.push_back(std::move(step));
  }

  void add_derived_forms(const Node& node, Step& step) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      std::optional<DerivedForm> form = step.kernel->derived_form(i);
      if (!form) continue;
      const ValueId root = roots_[index(node.inputs[i])];
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
  const KernelRegistry& registry_;
  int threads_;
  std::vector<ValueId> roots_;
  std::vector<bool> needed_;
  std::vector<ValueId> bound_as_;         ///< by root: the output that gives its storage
  std::vector<std::size_t> lifetime_of_;  ///< by root
  std::vector<Lifetime> lifetimes_;
  std::vector<std::pair<ValueId, ValueId>> copies_;
};

Program::Program(const Graph& graph, std::int64_t rows, const std::vector<ValueId>& outputs,
                 const KernelRegistry& registry, int threads)
    : rows_(rows) {
  Lowering(*this, graph, outputs, registry, threads).run();
}

}  // namespace mirrortrain
