#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <span>
#include <utility>

namespace mirrortrain::cuda {

/// One of cuDNN's backend descriptors: made, given its attributes, then finalized and used. All but try_finalize throw
/// Error naming the attribute or the descriptor.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  using Attribute = cudnnBackendAttributeName_t;
  void set(Attribute attribute, std::int64_t value);
  void set(Attribute attribute, std::span<const std::int64_t> values);
  void set(Attribute attribute, std::int32_t value);
  void set(Attribute attribute, double value);
  void set(Attribute attribute, bool value);
  void set(Attribute attribute, cudnnDataType_t value);
  void set(Attribute attribute, cudnnConvolutionMode_t value);
  void set(Attribute attribute, cudnnPointwiseMode_t value);
  void set(Attribute attribute, cudnnReduceTensorOp_t value);
  void set(Attribute attribute, cudnnGenStatsMode_t value);
  void set(Attribute attribute, cudnnBackendHeurMode_t value);
  void set(Attribute attribute, cudnnHandle_t value);
  void set(Attribute attribute, void* value);
  void set(Attribute attribute, std::span<void* const> values);
  void set(Attribute attribute, const Descriptor& value);
  void set(Attribute attribute, std::span<const Descriptor> values);
  void set_text(Attribute attribute, std::span<const char> value);

  void finalize(const char* what);
  cudnnStatus_t try_finalize() noexcept;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  void set(Attribute attribute, cudnnBackendAttributeType_t type, std::size_t count, const void* values);

  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace mirrortrain::cuda
