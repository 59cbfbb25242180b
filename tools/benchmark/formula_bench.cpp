// Times formulas of elements on one thread beside the kernels of the same functions, forward and backward, as a
// Markdown table. Takes the number of repetitions; both are timed in turn, and the fastest of each counts, in processor
// time of the thread.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "graph/ops/elementwise.h"
#include "kernel_timing.h"
#include "kernels/cpu/registry.h"
#include "model/formula/formula_graph.h"

using namespace mirrortrain;
using ops::ActivationKind;

namespace {

/// An op and its gradient for one input, with memory for their operands.
class Training {
 public:
  template <class AddOp>
  Training(const AddOp& add_op, std::int64_t elements) {
    Graph graph;
    const ValueSpec spec{DType::kFloat32, {elements}, true};
    const ValueId x = graph.input("x", spec);
    add_op(graph, x);
    const ValueId dy = graph.input("dy", spec);
    const Node node = graph.nodes().back();
    const std::vector<ValueId> output_gradients = {dy};
    node.op->gradient(graph, node, output_gradients, {true});
    tensors_.resize(graph.values().size());
    for (TensorView& tensor : tensors_) tensor = {DType::kFloat32, {1, elements}, memory_of(tensor_bytes(elements))};
    fill(tensors_[index(x)], 4);
    fill(tensors_[index(dy)], 4);
    for (const Node& one : graph.nodes()) {
      Step step;
      KernelSpecs specs;
      for (const ValueId input : one.inputs) step.inputs.push_back(tensors_[index(input)]);
      for (const ValueId output : one.outputs) step.outputs.push_back(tensors_[index(output)]);
      specs.inputs = step.inputs;
      specs.outputs = step.outputs;
      specs.input_present.assign(step.inputs.size(), true);
      step.kernel = cpu::kernel_registry().make(*one.op, specs);
      step.workspace = memory_of(step.kernel->workspace_bytes());
      steps_.push_back(std::move(step));
    }
  }

  double seconds() {
    InlineStream stream;
    const double start = thread_seconds();
    for (const Step& step : steps_) step.kernel->enqueue(stream, {step.inputs, step.outputs, step.workspace, nullptr});
    return thread_seconds() - start;
  }

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<TensorView> inputs, outputs;
    std::byte* workspace = nullptr;
  };

  static std::size_t tensor_bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }

  std::byte* memory_of(std::size_t bytes) { return memory_.emplace_back(allocate(bytes)).get(); }

  std::vector<Memory> memory_;
  std::vector<TensorView> tensors_;
  std::vector<Step> steps_;
};

struct Formula {
  std::string text;
  ActivationKind beside;
};

const Formula kFormulas[] = {
    {"x * sigmoid(1.702 * x)", ActivationKind::kSilu},
    {"x * sigmoid(x)", ActivationKind::kSilu},
    {"tanh(x)", ActivationKind::kTanh},
    {"x * tanh(softplus(x))", ActivationKind::kMish},
    {"0.5 * x * (1 + erf(x / 1.4142135))", ActivationKind::kGelu},
};

}  // namespace

int main(int count, char** arguments) {
  const int repetitions = count > 1 ? std::max(1, std::atoi(arguments[1])) : 200;
  fmt::print(
      "One thread, float32, forward and backward.\n\n| formula | beside | elements | ms | of the kernel | times |\n"
      "|---|---|---|---|---|---|\n");
  for (const Formula& formula : kFormulas) {
    for (const std::int64_t elements : {std::int64_t{16384}, std::int64_t{1} << 18, std::int64_t{1} << 21}) {
      Training fused(
          [&](Graph& graph, ValueId x) {
            return formula::add_formula(graph, formula.text, {{"x", x}}, DType::kFloat32);
          },
          elements);
      Training kernel([&](Graph& graph, ValueId x) { return graph.apply_one(ops::Activation(formula.beside), {x}); },
                      elements);
      double of_fused = 1e9, of_kernel = 1e9;
      for (int i = 0; i < repetitions; ++i) {
        of_fused = std::min(of_fused, fused.seconds());
        of_kernel = std::min(of_kernel, kernel.seconds());
      }
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {:.2f} |\n", formula.text, name_of(formula.beside), elements,
                 1e3 * of_fused, 1e3 * of_kernel, of_fused / of_kernel);
    }
  }
  return 0;
}
