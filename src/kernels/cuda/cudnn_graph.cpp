#include "kernels/cuda/cudnn_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "base/error.h"
#include "kernels/cuda/trial.h"

namespace mirrortrain::cuda {
namespace {

constexpr TensorId kNone = -1;
constexpr std::int64_t kAlignment = 16;

cudnnDataType_t type_of(DType dtype) {
  if (dtype == DType::kFloat32) return CUDNN_DATA_FLOAT;
  if (dtype == DType::kBfloat16) return CUDNN_DATA_BFLOAT16;
  throw Error(fmt::format("cuDNN is not asked to compute with {}", name_of(dtype)));
}

/// The strides of a channels-last tensor.
Dims channels_last(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  strides[1] = stride;
  stride *= dims[1];
  for (std::size_t axis = dims.size(); --axis > 1;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  return strides;
}

}  // namespace

TensorId CudnnGraph::add_tensor(DType dtype, const Dims& dims, bool is_virtual) {
  const auto id = static_cast<TensorId>(tensors_.size());
  Descriptor& tensor = tensors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(dtype));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(dims));
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(channels_last(dims)));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, unique_id(id));
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  tensor.finalize("a tensor");
  const std::int64_t elements = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  bytes_.push_back(is_virtual ? 0 : static_cast<std::size_t>(elements) * size_of(dtype));
  problem_ += fmt::format("{}{} {}; ", is_virtual ? "virtual " : "", name_of(dtype), fmt::join(dims, "x"));
  return id;
}

TensorId CudnnGraph::tensor(DType dtype, const Dims& dims) {
  multiplies_float32_ = multiplies_float32_ || dtype == DType::kFloat32;
  return add_tensor(dtype, dims, false);
}

TensorId CudnnGraph::virtual_tensor(const Dims& dims) { return add_tensor(DType::kFloat32, dims, true); }
TensorId CudnnGraph::result(const Dims& dims) { return add_tensor(DType::kFloat32, dims, false); }

void CudnnGraph::convolve(cudnnBackendDescriptorType_t type, const ConvolutionWindow& window,
                          const std::vector<std::pair<cudnnBackendAttributeName_t, TensorId>>& tensors,
                          const std::vector<cudnnBackendAttributeName_t>& parts) {
  Descriptor& convolution = parts_.emplace_back(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(window.strides.size()));
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span(window.strides));
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span(window.dilations));
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span(window.pad_before));
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span(window.pad_after));
  convolution.finalize("a convolution's window");
  Descriptor& operation = operations_.emplace_back(type);
  operation.set(parts[0], convolution);
  for (const auto& [attribute, tensor] : tensors) operation.set(attribute, at(tensor));
  for (const auto& [attribute, tensor] : tensors) problem_ += fmt::format("{} ", tensor);
  problem_ += fmt::format("convolution {}, strides {}, dilations {}, padding {} {}; ", static_cast<int>(type),
                          fmt::join(window.strides, "x"), fmt::join(window.dilations, "x"),
                          fmt::join(window.pad_before, "x"), fmt::join(window.pad_after, "x"));
  operation.set(parts[1], 1.0);
  operation.set(parts[2], 0.0);
  operation.finalize("a convolution");
}

void CudnnGraph::convolution(const ConvolutionWindow& window, TensorId x, TensorId w, TensorId y) {
  convolve(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, window,
           {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y}},
           {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA});
}

void CudnnGraph::convolution_data_gradient(const ConvolutionWindow& window, TensorId dy, TensorId w, TensorId dx) {
  convolve(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, window,
           {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx}},
           {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA});
}

void CudnnGraph::convolution_filter_gradient(const ConvolutionWindow& window, TensorId x, TensorId dy, TensorId dw) {
  convolve(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, window,
           {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy},
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw}},
           {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA});
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, TensorId x, TensorId b, TensorId y) {
  Descriptor& function = parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  function.finalize("an elementwise function");
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(x));
  if (b != kNone) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, at(b));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  operation.finalize("an elementwise operation");
  problem_ += fmt::format("{} {} {} pointwise {}; ", x, b, y, static_cast<int>(mode));
}

void CudnnGraph::add(TensorId x, TensorId b, TensorId y) { pointwise(CUDNN_POINTWISE_ADD, x, b, y); }
void CudnnGraph::relu(TensorId x, TensorId y) { pointwise(CUDNN_POINTWISE_RELU_FWD, x, kNone, y); }

void CudnnGraph::channel_sums(TensorId x, TensorId sums, TensorId squares) {
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, at(x));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, at(sums));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, at(squares));
  operation.finalize("sums of channels");
  problem_ += fmt::format("{} {} {} sums; ", x, sums, squares);
}

Descriptor CudnnGraph::finalized(const Cudnn& cudnn) const {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (cudnn.handle() != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, cudnn.handle());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const Descriptor>(operations_));
  graph.finalize("a graph of operations");
  return graph;
}

std::vector<CudnnPlan> CudnnGraph::plans(const Cudnn& cudnn, std::size_t most, bool may_compile) const {
  return plans_for(cudnn, finalized(cudnn), {most, multiplies_float32_, may_compile});
}

CudnnPlan CudnnGraph::plan(Cudnn& cudnn) {
  const Descriptor graph = finalized(cudnn);
  const auto plans = [&](std::size_t most) { return plans_for(cudnn, graph, {most, multiplies_float32_}); };
  Choices* const choices = cudnn.choices();
  if (choices == nullptr) return std::move(plans(1).front());
  // Creating plans also takes time: for a known problem only those up to the chosen one are created.
  if (const auto known = choices->known(problem_)) return std::move(plans(*known + 1).back());
  std::vector<CudnnPlan> found = plans(kMostCandidates);
  Candidates candidates;
  candidates.operand_bytes = bytes_;
  for (const CudnnPlan& plan : found) candidates.workspace_bytes.push_back(plan.workspace_bytes());
  candidates.enqueue = [&](std::size_t i, CudaStream& stream, std::span<void* const> tensors, std::byte* workspace) {
    found[i].enqueue(cudnn, stream.get(), tensors, workspace);
  };
  return std::move(found[choose_by_trial(*choices, problem_, cudnn.gpu(), candidates)]);
}

}  // namespace mirrortrain::cuda
