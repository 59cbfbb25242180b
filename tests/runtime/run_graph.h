#pragma once

#include <map>
#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/ops/collective.h"
#include "kernels/kernel.h"
#include "kernels/storage.h"
#include "runtime/program.h"

namespace mirrortrain::testing {

using Bytes = std::vector<std::byte>;

/// A graph's inputs and variables, float32, filled at random, and what else its values need to be computed. There is
/// one replica, whose own values are the sums.
class GraphInputs {
 public:
  GraphInputs(const Graph& graph, std::int64_t rows, unsigned seed = 1) : graph_(graph), rows_(rows) {
    step = {.seed = 7, .step = 3, .first_row = 0, .global_examples = rows};
    std::mt19937 bits(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (ValueId id = 0; id < static_cast<ValueId>(graph.values().size()); ++id) {
      if (graph.value(id).source == Graph::Source::kNode) continue;
      const TensorView tensor = view(id);
      memory_.emplace(id, tensor.bytes());
      if (tensor.dtype != DType::kFloat32) continue;  // a sum over the replicas
      for (float& element : floats(id)) element = uniform(bits);
    }
  }

  TensorView view(ValueId id, std::byte* data = nullptr) const {
    return {graph_.spec(id).dtype, graph_.spec(id).shape_at(rows_), data};
  }
  std::byte* data(ValueId id) const { return memory_.at(id).data(); }
  std::span<float> floats(ValueId id) const { return view(id, data(id)).span<float>(); }

  StepParams step;

 private:
  const Graph& graph_;
  std::int64_t rows_;
  std::map<ValueId, Storage> memory_;
};

/// The outputs' bytes from the nodes' kernels alone, each value in memory of its own: what a program must come to.
inline std::vector<Bytes> interpret(const Graph& graph, const std::vector<ValueId>& outputs,
                                    const KernelRegistry& registry, const GraphInputs& inputs) {
  InlineStream stream;
  std::map<ValueId, Storage> computed;
  const auto data = [&](ValueId id) {
    const auto found = computed.find(id);
    return found != computed.end() ? found->second.data() : inputs.data(id);
  };
  for (const Node& node : graph.nodes()) {
    for (const ValueId output : node.outputs) computed.emplace(output, inputs.view(output).bytes());
    if (node.op->is_alias() || node.op->is_collective()) {  // of one replica
      stream.copy(data(node.outputs[0]), data(node.inputs[0]), inputs.view(node.outputs[0]).bytes());
      continue;
    }
    KernelSpecs specs;
    for (const ValueId input : node.inputs) {
      specs.input_present.push_back(input != kNoValue);
      specs.inputs.push_back(input != kNoValue ? inputs.view(input) : TensorView{DType::kFloat32, Shape{0}, nullptr});
    }
    for (const ValueId output : node.outputs) specs.outputs.push_back(inputs.view(output));
    const std::unique_ptr<Kernel> kernel = registry.make(*node.op, specs);

    std::vector<TensorView> from = specs.inputs, to = specs.outputs;
    std::vector<Storage> forms;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!specs.input_present[i]) continue;
      from[i].data = data(node.inputs[i]);
      if (const auto form = kernel->derived_form(i)) {
        forms.emplace_back(form->bytes);
        form->refresh(stream, from[i], forms.back().data());
        from[i].data = forms.back().data();
      }
    }
    for (std::size_t i = 0; i < to.size(); ++i) to[i].data = data(node.outputs[i]);
    const Storage workspace(kernel->workspace_bytes());
    kernel->enqueue(stream, {from, to, workspace.data(), &inputs.step});
  }
  std::vector<Bytes> found;
  for (const ValueId output : outputs) {
    found.emplace_back(data(output), data(output) + inputs.view(output).bytes());
  }
  return found;
}

/// A program with memory for what it is bound to, its replicas' sums among the outputs; the arena starts as NaN and is
/// watched at its end.
class BoundRun {
 public:
  BoundRun(const Graph& graph, const Program& program, std::vector<ValueId> outputs, const GraphInputs& inputs)
      : inputs_(inputs), outputs_(std::move(outputs)), arena_(program.arena_bytes()) {
    Bindings bindings;
    bindings.values.resize(graph.values().size());
    for (std::size_t i = 0; i < bindings.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (graph.value(id).source != Graph::Source::kNode) bindings.values[i] = inputs.data(id);
    }
    for (const ValueId output : outputs_) {
      memory_.emplace_back(inputs.view(output).bytes());
      bindings.values[static_cast<std::size_t>(output)] = memory_.back().data();
    }
    for (const ops::PlacedCollective& one : ops::collectives_of(graph)) {  // of one place
      bindings.values[index(one.outputs[0])] = bindings.values[index(one.inputs[0])];
    }
    for (const DerivedCopy& copy : program.derived_copies()) {
      derived_.emplace_back(copy.form.bytes);
      copy.form.refresh(stream, inputs.view(copy.variable, inputs.data(copy.variable)), derived_.back().data());
      bindings.derived.push_back(derived_.back().data());
    }
    bindings.arena = arena_.data();
    bindings.step = &inputs.step;
    bound = std::make_unique<BoundProgram>(program, bindings);
  }

  std::span<std::byte> bytes(std::size_t i) const { return {memory_[i].data(), inputs_.view(outputs_[i]).bytes()}; }
  Bytes output(std::size_t i) const { return memory_[i].copy(); }
  std::vector<Bytes> outputs() const {
    std::vector<Bytes> found;
    for (const Storage& storage : memory_) found.push_back(storage.copy());
    return found;
  }
  std::span<const float> floats(std::size_t i) const {
    return inputs_.view(outputs_[i], memory_[i].data()).span<float>();
  }
  bool arena_intact() const { return arena_.intact(); }

  InlineStream stream;
  std::unique_ptr<BoundProgram> bound;

 private:
  const GraphInputs& inputs_;
  std::vector<ValueId> outputs_;
  Storage arena_;
  std::vector<Storage> memory_, derived_;
};

}  // namespace mirrortrain::testing
