#include "kernels/cuda/cudnn_descriptor.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "kernels/cuda/cudnn.h"

namespace mirrortrain::cuda {

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnn_library().create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (descriptor_ != nullptr) cudnn_library().destroy_descriptor(descriptor_);
}

void Descriptor::set(Attribute attribute, cudnnBackendAttributeType_t type, std::size_t count, const void* values) {
  const cudnnStatus_t status =
      cudnn_library().set_attribute(descriptor_, attribute, type, static_cast<std::int64_t>(count), values);
  if (status != CUDNN_STATUS_SUCCESS) {
    throw Error(fmt::format("cudnnBackendSetAttribute {} failed: {}", static_cast<int>(attribute), reason_of(status)));
  }
}

void Descriptor::set(Attribute attribute, std::int64_t value) { set(attribute, CUDNN_TYPE_INT64, 1, &value); }
void Descriptor::set(Attribute attribute, std::span<const std::int64_t> values) {
  set(attribute, CUDNN_TYPE_INT64, values.size(), values.data());
}
void Descriptor::set(Attribute attribute, std::int32_t value) { set(attribute, CUDNN_TYPE_INT32, 1, &value); }
void Descriptor::set(Attribute attribute, double value) { set(attribute, CUDNN_TYPE_DOUBLE, 1, &value); }
void Descriptor::set(Attribute attribute, bool value) { set(attribute, CUDNN_TYPE_BOOLEAN, 1, &value); }
void Descriptor::set(Attribute attribute, cudnnDataType_t value) { set(attribute, CUDNN_TYPE_DATA_TYPE, 1, &value); }
void Descriptor::set(Attribute attribute, cudnnConvolutionMode_t value) {
  set(attribute, CUDNN_TYPE_CONVOLUTION_MODE, 1, &value);
}
void Descriptor::set(Attribute attribute, cudnnPointwiseMode_t value) {
  set(attribute, CUDNN_TYPE_POINTWISE_MODE, 1, &value);
}
void Descriptor::set(Attribute attribute, cudnnReduceTensorOp_t value) {
  set(attribute, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &value);
}
void Descriptor::set(Attribute attribute, cudnnGenStatsMode_t value) {
  set(attribute, CUDNN_TYPE_GENSTATS_MODE, 1, &value);
}
void Descriptor::set(Attribute attribute, cudnnBackendHeurMode_t value) {
  set(attribute, CUDNN_TYPE_HEUR_MODE, 1, &value);
}
void Descriptor::set(Attribute attribute, cudnnHandle_t value) { set(attribute, CUDNN_TYPE_HANDLE, 1, &value); }
void Descriptor::set(Attribute attribute, void* value) { set(attribute, CUDNN_TYPE_VOID_PTR, 1, &value); }
void Descriptor::set(Attribute attribute, std::span<void* const> values) {
  set(attribute, CUDNN_TYPE_VOID_PTR, values.size(), values.data());
}
void Descriptor::set(Attribute attribute, const Descriptor& value) {
  set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}
void Descriptor::set(Attribute attribute, std::span<const Descriptor> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& value : values) raw.push_back(value.descriptor_);
  set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.size(), raw.data());
}
void Descriptor::set_text(Attribute attribute, std::span<const char> value) {
  set(attribute, CUDNN_TYPE_CHAR, value.size(), value.data());
}

void Descriptor::finalize(const char* what) {
  const cudnnStatus_t status = try_finalize();
  if (status != CUDNN_STATUS_SUCCESS) throw Error(fmt::format("cuDNN refuses {}: {}", what, reason_of(status)));
}

cudnnStatus_t Descriptor::try_finalize() noexcept { return cudnn_library().finalize(descriptor_); }

}  // namespace mirrortrain::cuda
