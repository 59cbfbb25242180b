#pragma once

#include <memory>
#include <utility>

#include "base/bfloat16.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// A kernel that is one function of the stream and its arguments: custom launches rather than a library's plan.
template <class Body>
class StreamKernel : public Kernel {
 public:
  StreamKernel(std::size_t workspace, Body body) : workspace_(workspace), body_(std::move(body)) {}
  std::size_t workspace_bytes() const override { return workspace_; }
  void enqueue(Stream& stream, const KernelArgs& args) override { body_(stream, args); }

 private:
  std::size_t workspace_;
  Body body_;
};

template <class Body>
std::unique_ptr<Kernel> stream_kernel(Body body, std::size_t workspace = 0) {
  return std::make_unique<StreamKernel<Body>>(workspace, std::move(body));
}

/// Throws Error: the op has no CUDA kernel for the dtype.
[[noreturn]] void refuse_dtype(const Op& op, DType dtype);

/// Returns make(T{}) with T the type of a float tensor's elements. Throws Error for other dtypes.
template <class Make>
std::unique_ptr<Kernel> for_float_type(const Op& op, DType dtype, const Make& make) {
  if (dtype == DType::kFloat32) return make(float{});
  if (dtype == DType::kBfloat16) return make(bfloat16{});
  refuse_dtype(op, dtype);
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

}  // namespace mirrortrain::cuda
