#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/walk.h"
#include "kernels/scalar/pointwise.h"

namespace mirrortrain::cuda {
namespace {

using scalar::PointwiseProgram;

/// The inputs, as a kernel's parameter.
struct Inputs {
  Walk<1> walk[ops::Pointwise::kMostInputs];
  const void* data[ops::Pointwise::kMostInputs];
  bool is_bfloat16[ops::Pointwise::kMostInputs];
};

/// The numbers of one element.
struct Element {
  float slot[PointwiseProgram::kMostSlots];
  float input[ops::Pointwise::kMostInputs];

  __device__ float value(const PointwiseProgram& program, int operand) const {
    if (operand >= PointwiseProgram::kFirstInput) return input[operand - PointwiseProgram::kFirstInput];
    if (operand >= PointwiseProgram::kFirstConstant)
      return program.constant[operand - PointwiseProgram::kFirstConstant];
    return slot[operand];
  }

  __device__ void read(const Inputs& from, int inputs, std::int64_t number) {
    for (int i = 0; i < inputs; ++i) {
      const std::int64_t at = from.walk[i].place(number).at[0];
      input[i] = from.is_bfloat16[i] ? static_cast<float>(static_cast<const bfloat16*>(from.data[i])[at])
                                     : static_cast<const float*>(from.data[i])[at];
    }
  }

  __device__ void run(const PointwiseProgram& program, const PointwiseProgram::Step& step) {
    const float a = value(program, step.a), factor = step.factor;
    float& to = slot[step.to];
    const int operands = ops::operands_of(step.code);
    if (operands == 1) {
      scalar::with_code_of_one(step.code, [&](auto function) { to = factor * function(step.before * a); });
      if (step.operands > 1) to *= value(program, step.b);
      if (step.operands > 2) to += value(program, step.c);
    } else if (operands == 2) {
      const float b = value(program, step.b);
      scalar::with_code_of_two(step.code, [&](auto function) { to = factor * function(a, b); });
    } else if (step.code == ops::PointwiseCode::kMultiplyAdd) {
      to = factor * (a * value(program, step.b) + value(program, step.c));
    } else {
      to = factor * value(program, a != 0.0f ? step.b : step.c);
    }
  }
};

template <class T>
__global__ void __launch_bounds__(kBlock) pointwise(PointwiseProgram program, Inputs inputs, std::int64_t count, T* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    Element element;
    element.read(inputs, program.inputs, i);
    for (int step = 0; step < program.steps; ++step) element.run(program, program.step[step]);
    y[i] = T(element.value(program, program.result));
  }
}

std::unique_ptr<Kernel> make_pointwise(const ops::Pointwise& op, const KernelSpecs& specs) {
  const PointwiseProgram program = scalar::program_of(op.function);
  Inputs inputs{};
  static_assert(sizeof(PointwiseProgram) + sizeof(Inputs) < 4000, "a kernel's parameters");
  for (std::size_t i = 0; i < specs.inputs.size(); ++i) {
    inputs.walk[i] = scalar::walk_of_input(specs.inputs[i].shape, specs.outputs[0].shape);
    inputs.is_bfloat16[i] = specs.inputs[i].dtype == DType::kBfloat16;
  }
  return for_float_type(op, op.dtype, [&]<class T>(T) {
    return stream_kernel([=, count = specs.outputs[0].shape.elements()](Stream& stream, const KernelArgs& args) {
      Inputs bound = inputs;
      for (std::size_t i = 0; i < args.inputs.size(); ++i) bound.data[i] = args.inputs[i].data;
      launch(stream, blocks_for(count), kBlock, 0, pointwise<T>, program, bound, count, output<T>(args, 0));
    });
  });
}

}  // namespace

void add_pointwise_kernels(KernelRegistry& registry) { registry.add<ops::Pointwise>(make_pointwise); }

}  // namespace mirrortrain::cuda
