#include "kernels/cpu/choose_kernel.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::cpu {
namespace {

/// What is left of a weight gradient without rows, and nothing at all elsewhere.
class ZeroKernel : public Kernel {
 public:
  void enqueue(Stream& stream, const KernelArgs& args) override {
    for (const TensorView& output : args.outputs) {
      if (output.data && output.elements() > 0) stream.zero(output.data, output.bytes());
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const Op& op, const KernelSpecs& specs, const KernelMaker& make) {
  const TensorView& first = specs.inputs[0];
  if (first.elements() == 0) return std::make_unique<ZeroKernel>();
  if (auto kernel = make(specs)) return kernel;
  if (first.dtype == DType::kBfloat16) return float32_detour(specs, make);
  throw Error(
      fmt::format("there is no CPU kernel of {} for {} {}", op.name(), name_of(first.dtype), first.shape.text()));
}

}  // namespace mirrortrain::cpu
