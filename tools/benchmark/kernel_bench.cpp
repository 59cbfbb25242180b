// Times the CPU kernels of dense and conv2d on one thread beside oneDNN's for the same plain layouts, as a Markdown
// table. Takes the number of repetitions; the fastest counts, in processor time of the thread.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "kernel_timing.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"

using namespace mirrortrain;

namespace {

/// Milliseconds of the fastest of `repetitions`.
double time_of(Kernel& kernel, KernelSpecs specs, int repetitions) {
  InlineStream stream;
  std::vector<Memory> memory;
  const auto bind = [&](std::byte*& data, std::size_t bytes) { data = memory.emplace_back(allocate(bytes)).get(); };
  for (std::vector<TensorView>* views : {&specs.inputs, &specs.outputs}) {
    for (TensorView& view : *views) {
      bind(view.data, view.bytes());
      fill(view, 0.5f);
    }
  }
  for (std::size_t i = 0; i < specs.inputs.size(); ++i) {
    const auto form = kernel.derived_form(i);
    if (!form) continue;
    std::byte* copy = nullptr;
    bind(copy, form->bytes);
    form->refresh(stream, specs.inputs[i], copy);
    specs.inputs[i].data = copy;
  }
  const Memory workspace = allocate(kernel.workspace_bytes());
  double fastest = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const double start = thread_seconds();
    kernel.enqueue(stream, {specs.inputs, specs.outputs, workspace.get(), nullptr});
    fastest = std::min(fastest, thread_seconds() - start);
  }
  return 1e3 * fastest;
}

TensorView floats(Shape shape) { return {DType::kFloat32, std::move(shape), nullptr}; }

KernelSpecs specs_of(std::vector<TensorView> inputs, std::vector<TensorView> outputs) {
  const std::vector<bool> present(inputs.size(), true);
  return {std::move(inputs), std::move(outputs), present, 1};
}

struct Row {
  std::string name;
  double flop;
  int repetitions;

  void print(std::string_view what, const Op& op, const KernelSpecs& specs, std::unique_ptr<Kernel> onednn) const {
    const double ours = time_of(*cpu::kernel_registry().make(op, specs), specs, repetitions);
    const double theirs = time_of(*onednn, specs, repetitions);
    fmt::print("| {} | {} | {:.3f} | {:.0f} | {:.3f} | {:.0f} |\n", name, what, ours, 1e-6 * flop / ours, theirs,
               1e-6 * flop / theirs);
  }
};

void dense(std::int64_t rows, std::int64_t in, std::int64_t out, int repetitions) {
  const TensorView x = floats({rows, in}), kernel = floats({in, out}), bias = floats({out}), y = floats({rows, out});
  const Row row{fmt::format("dense {} x {} -> {}", rows, in, out), 2.0 * rows * in * out, repetitions};
  const auto problem = [&](bool with_bias) { return cpu::onednn::inner_product(x, y, with_bias); };
  const auto relu = ops::ActivationKind::kRelu;
  row.print("forward", ops::Dense(relu), specs_of({x, kernel, bias}, {y}), make_forward(problem(true), relu, 1));
  row.print("gradient of x", ops::DenseInputGradient(), specs_of({y, kernel}, {x}),
            make_input_gradient(problem(false), 1));
  row.print("gradient of weights", ops::DenseWeightGradient(true), specs_of({x, y}, {kernel, bias}),
            make_weight_gradient(problem(true), 1));
}

void conv2d(std::int64_t rows, const Shape& image, const Shape& kernel_shape, ops::Conv2dAttributes attributes,
            int repetitions) {
  const ValueSpec specs[] = {{DType::kFloat32, image, true}, {DType::kFloat32, kernel_shape, false}};
  const TensorView x = floats(image.with_rows(rows)), kernel = floats(kernel_shape), bias = floats({kernel_shape[3]});
  const TensorView y = floats(ops::Conv2d(attributes).infer(specs)[0].shape_at(rows));
  const Row row{fmt::format("conv2d {} x {}, {}{}", rows, image.text(), kernel_shape.text(),
                            attributes.padding == ops::Padding::kSame ? ", same" : ""),
                2.0 * static_cast<double>(y.elements() * kernel_shape.elements() / kernel_shape[3]), repetitions};
  const auto problem = [&](bool with_bias) {
    return cpu::onednn::convolution(attributes, x, kernel_shape, y, with_bias);
  };
  const auto relu = ops::ActivationKind::kRelu;
  row.print("forward", ops::Conv2d(attributes, relu), specs_of({x, kernel, bias}, {y}),
            make_forward(problem(true), relu, 1));
  if (image.back() > 4) {  // the first layer's is never wanted
    row.print("gradient of x", ops::Conv2dInputGradient(attributes, image), specs_of({y, kernel}, {x}),
              make_input_gradient(problem(false), 1));
  }
  row.print("gradient of weights", ops::Conv2dWeightGradient(attributes, kernel_shape, true),
            specs_of({x, y}, {kernel, bias}), make_weight_gradient(problem(true), 1));
}

}  // namespace

int main(int count, char** arguments) {
  const int repetitions = count > 1 ? std::max(1, std::atoi(arguments[1])) : 100;
  const ops::Conv2dAttributes valid, same{.padding = ops::Padding::kSame};
  fmt::print(
      "One thread, float32.\n\n| shapes | what | ms | GFLOP/s | oneDNN ms | GFLOP/s |\n|---|---|---|---|---|---|\n");
  dense(64, 784, 512, repetitions);
  dense(64, 512, 512, repetitions);
  dense(64, 512, 10, repetitions);
  dense(64, 1600, 128, repetitions);
  conv2d(64, {28, 28, 1}, {3, 3, 1, 32}, valid, repetitions);
  conv2d(64, {13, 13, 32}, {3, 3, 32, 64}, valid, repetitions);
  conv2d(64, {32, 32, 3}, {3, 3, 3, 32}, same, repetitions);
  conv2d(16, {28, 28, 32}, {3, 3, 32, 32}, same, repetitions);
  conv2d(16, {14, 14, 128}, {3, 3, 128, 128}, same, repetitions);
  conv2d(16, {7, 7, 256}, {3, 3, 256, 256}, same, repetitions);
  conv2d(64, {24, 24, 128}, {1, 1, 128, 128}, same, repetitions);
  conv2d(64, {1, 1, 1024}, {1, 1, 1024, 1000}, same, repetitions);
  return 0;
}
