#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/tensor_view.h"
#include "graph/ops/activation_kind.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"

namespace mirrortrain::cpu {

/// A kernel that is one function of its arguments: custom loops rather than a library's primitive.
template <class Body>
class LoopKernel : public Kernel {
 public:
  LoopKernel(std::size_t workspace, Body body) : workspace_(workspace), body_(std::move(body)) {}
  std::size_t workspace_bytes() const override { return workspace_; }
  void enqueue(Stream&, const KernelArgs& args) override { body_(args); }

 private:
  std::size_t workspace_;
  Body body_;
};

template <class Body>
std::unique_ptr<Kernel> loop_kernel(Body body, std::size_t workspace = 0) {
  return std::make_unique<LoopKernel<Body>>(workspace, std::move(body));
}

/// Returns make(T{}) with T the type of a float tensor's elements. Throws Error for other dtypes.
template <class Make>
std::unique_ptr<Kernel> for_float_type(const Op& op, DType dtype, const Make& make) {
  if (dtype == DType::kFloat32) return make(float{});
  if (dtype == DType::kBfloat16) return make(bfloat16{});
  throw Error(fmt::format("{} has no kernel for {} on the CPU; it computes on float32 and bfloat16", op.name(),
                          name_of(dtype)));
}

/// Fewer elements than this are not worth a thread.
inline constexpr std::int64_t kThreadGrain = 16384;

/// Rows of `row_elements` that are worth a thread.
inline std::int64_t rows_per_thread(std::int64_t row_elements) {
  return std::max<std::int64_t>(1, kThreadGrain / std::max<std::int64_t>(1, row_elements));
}

/// An operand's data, null where it is absent.
template <class T>
const T* input(const KernelArgs& args, std::size_t i) {
  return i < args.inputs.size() ? args.inputs[i].as<const T>() : nullptr;
}
template <class T>
T* output(const KernelArgs& args, std::size_t i) {
  return args.outputs[i].as<T>();
}

/// Applies an activation in place, for kernels that cannot fuse it. Nothing to do for kLinear.
void activate(ops::ActivationKind kind, const TensorView& values, int threads);

}  // namespace mirrortrain::cpu
