#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "graph/ops/conv.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/kernel.h"

// Convolutions as graphs of cuDNN.
namespace mirrortrain::cuda {

/// The channels behind the axes of images, or of volumes, before them, as cuDNN counts them.
template <std::size_t kAxes>
Dims channels_first(std::int64_t first, std::int64_t channels, const Shape& shape, std::size_t axis) {
  Dims dims{first, channels};
  for (std::size_t end = axis + kAxes; axis < end; ++axis) dims.push_back(shape[axis]);
  return dims;
}

/// A convolution in cuDNN's order of axes: x [n, in, ...], w [out, in / groups, ...], y [n, out, ...], bias
/// [1, out, 1, ...].
template <std::size_t kAxes>
struct Convolution {
  DType dtype;  ///< of images
  Dims x, w, y, bias;
  ConvolutionWindow window;

  /// `images`: [n, ..., in], of which only dtype and shape are used; `kernel`: [..., in / groups, out]; `output`: [n,
  /// ..., out], all as the op has them.
  Convolution(const ops::ConvAttributes<kAxes>& op, const TensorView& images, const Shape& kernel, const Shape& output)
      : dtype(images.dtype),
        x(channels_first<kAxes>(images.shape[0], images.shape.back(), images.shape, 1)),
        w(channels_first<kAxes>(kernel.back(), kernel[kAxes], kernel, 0)),
        y(channels_first<kAxes>(output[0], output.back(), output, 1)),
        bias(kAxes + 2, 1) {
    bias[1] = kernel.back();
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const ops::WindowAxis along =
          ops::window_axis(images.shape[axis + 1], kernel[axis], op.strides[axis], op.dilation_rate[axis], op.padding);
      window.strides.push_back(op.strides[axis]);
      window.dilations.push_back(op.dilation_rate[axis]);
      window.pad_before.push_back(along.pad_before);
      window.pad_after.push_back(along.pad_after);
    }
  }
};

/// A plan for the graph that build(graph) adds ops to. Throws Error with cuDNN's reasons and the op's shapes if it has
/// none.
template <std::size_t kAxes, class Build>
CudnnPlan plan_for(const Op& op, const Convolution<kAxes>& c, Cudnn& cudnn, const Build& build) {
  try {
    CudnnGraph graph;
    build(graph);
    return graph.plan(cudnn);
  } catch (const Error& error) {
    // Channels last, as users write shapes.
    const auto shape = [](Dims dims) {
      std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
      return dims;
    };
    const Dims images = shape(c.x), filters = shape(c.w);
    throw Error(fmt::format("{} on cuda ({}, images {}, {} filters {}): {}", op.name(), name_of(c.dtype),
                            fmt::join(images, " x "), filters[0], fmt::join(filters.begin() + 1, filters.end(), " x "),
                            error.what()));
  }
}

/// The tensors of a forward convolution's graph, which come first in it and in this order; `bias` -1 where there is
/// none.
struct ConvolutionTensors {
  TensorId x, w, y, bias = -1;
};

/// Adds y = x * w (convolved), with a bias and relu where these are wanted. Behind these tensors are virtual ones.
/// Throws Error with cuDNN's reason.
template <std::size_t kAxes>
ConvolutionTensors add_convolution(CudnnGraph& graph, const Convolution<kAxes>& c, bool with_bias, bool with_relu) {
  ConvolutionTensors tensors{graph.tensor(c.dtype, c.x), graph.tensor(c.dtype, c.w), graph.tensor(c.dtype, c.y)};
  if (!with_bias) {
    graph.convolution(c.window, tensors.x, tensors.w, tensors.y);
    return tensors;
  }
  tensors.bias = graph.tensor(c.dtype, c.bias);
  const TensorId convolved = graph.virtual_tensor(c.y);
  graph.convolution(c.window, tensors.x, tensors.w, convolved);
  if (!with_relu) {
    graph.add(convolved, tensors.bias, tensors.y);
    return tensors;
  }
  const TensorId sum = graph.virtual_tensor(c.y);
  graph.add(convolved, tensors.bias, sum);
  graph.relu(sum, tensors.y);
  return tensors;
}

/// The kernel of a convolution: cuDNN's, or a custom one where each channel has filters of its own; with zero rows one
/// that only zeroes its output. Its operands are in device memory. Throws Error if cuDNN has no plan.
std::unique_ptr<Kernel> make_convolution(const ops::Conv2d& op, const KernelSpecs& specs,
                                         const std::shared_ptr<Cudnn>& cudnn);

}  // namespace mirrortrain::cuda
