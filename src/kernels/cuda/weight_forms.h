#pragma once

#include <memory>
#include <optional>

#include "graph/ops/activation_kind.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// A canonical float32 convolution kernel [h, w, in, out] as cuDNN reads it, [out, h, w, in] in `dtype`.
DerivedForm filter_form(const TensorView& kernel, DType dtype);

/// Filters of one channel each, [h, w, 1, channels] in `dtype`.
DerivedForm depthwise_form(const TensorView& kernel, DType dtype);

/// A canonical float32 weight in `dtype`; nothing where it is float32 already.
std::optional<DerivedForm> dtype_form(const TensorView& weight, DType dtype);

/// An elementwise function over a kernel's own output, in place.
class ActivationPass {
 public:
  /// `y` is the output's shape and dtype.
  ActivationPass(ops::ActivationKind kind, const TensorView& y);
  void enqueue(Stream& stream, const KernelArgs& args);
  /// From another tensor.
  void enqueue(Stream& stream, const TensorView& from, const TensorView& y);

 private:
  std::unique_ptr<Kernel> kernel_;  ///< null for linear
};

/// dx = dx times the derivative of an elementwise function, in place.
class ActivationGradientPass {
 public:
  /// `dx` is the gradient's shape and dtype.
  ActivationGradientPass(ops::ActivationKind kind, const TensorView& dx);
  /// `from`: the function's output where ops::derivative_from_output, else its input.
  void enqueue(Stream& stream, const TensorView& from, const TensorView& dx);

 private:
  std::unique_ptr<Kernel> kernel_;
};

/// Where parts of a workspace begin: `bytes` rounded up to what cuDNN and cuBLASLt read fastest from.
inline std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace mirrortrain::cuda
