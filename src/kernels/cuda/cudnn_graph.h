#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/cudnn_descriptor.h"
#include "kernels/cuda/cudnn_plan.h"

namespace mirrortrain::cuda {

/// A tensor of a cuDNN graph, numbered in the order of creation from 0.
using TensorId = std::int64_t;

/// In cuDNN's order of axes: images [n, channels, h, w], filters [out, in / groups, h, w].
using Dims = std::vector<std::int64_t>;

struct ConvolutionWindow {
  Dims strides, dilations, pad_before, pad_after;
};

/// Ops for one cuDNN plan; the arithmetic between them is in float32. Intermediate tensors inside the plan are virtual.
/// Every function may throw Error with cuDNN's reason.
class CudnnGraph {
 public:
  /// In channels-last order; `dtype` float32 or bfloat16.
  TensorId tensor(DType dtype, const Dims& dims);
  TensorId virtual_tensor(const Dims& dims);
  /// In float32; for results alone, which no multiplication reads.
  TensorId result(const Dims& dims);

  /// y = x * w; dx from dy and w; dw from x and dy.
  void convolution(const ConvolutionWindow& window, TensorId x, TensorId w, TensorId y);
  void convolution_data_gradient(const ConvolutionWindow& window, TensorId dy, TensorId w, TensorId dx);
  void convolution_filter_gradient(const ConvolutionWindow& window, TensorId x, TensorId dy, TensorId dw);
  /// y = x + b, b broadcast over axes of extent 1.
  void add(TensorId x, TensorId b, TensorId y);
  void relu(TensorId x, TensorId y);
  /// The sums of x's channels and of their squares, [1, channels, 1, 1] in float32.
  void channel_sums(TensorId x, TensorId sums, TensorId squares);

  /// The bytes of each tensor, 0 for virtual ones, and a text that no other graph has.
  const std::vector<std::size_t>& operand_bytes() const { return bytes_; }
  const std::string& problem() const { return problem_; }

  /// Up to `most` plans that the options allow, as plans_for gives them; `may_compile` as in PlanLimits. Finalizes the
  /// graph.
  std::vector<CudnnPlan> plans(const Cudnn& cudnn, std::size_t most, bool may_compile = false) const;

  /// Of the plans that the options allow, the one that cuDNN's heuristics rank first or, if the options say so, the one
  /// measured fastest. Finalizes the graph.
  CudnnPlan plan(Cudnn& cudnn);

 private:
  TensorId add_tensor(DType dtype, const Dims& dims, bool is_virtual);
  void convolve(cudnnBackendDescriptorType_t type, const ConvolutionWindow& window,
                const std::vector<std::pair<cudnnBackendAttributeName_t, TensorId>>& tensors,
                const std::vector<cudnnBackendAttributeName_t>& parts);
  Descriptor finalized(const Cudnn& cudnn) const;
  void pointwise(cudnnPointwiseMode_t mode, TensorId x, TensorId b, TensorId y);
  const Descriptor& at(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }

  std::vector<Descriptor> tensors_, parts_, operations_;
  std::vector<std::size_t> bytes_;  ///< of each tensor; 0 for virtual ones
  std::string problem_;             ///< distinguishes this graph from every other
  bool multiplies_float32_ = false;
};

}  // namespace mirrortrain::cuda
