#pragma once

#include <cstddef>
#include <vector>

#include "collective/stage_work.h"
#include "device/device.h"
#include "kernels/step_kernels.h"

namespace mirrortrain {

/// A rank's work on its stream if other devices' memory can be copied but not computed with: terms are copied here
/// block by block, added here, and the sum is copied to its destination. float32 only.
class PeerWork : public StageWork {
 public:
  /// For up to `ranks` terms. Allocates `bytes` on the device for blocks of other ranks' terms.
  PeerWork(Device& device, const StepKernels& kernels, std::size_t ranks, std::size_t bytes);

  std::size_t bytes() const { return blocks_.bytes(); }

  /// Sets the stream for the following operations; `mine` are the rank's own elements.
  void start(Stream& stream, std::byte* mine);

  void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to,
               Shard shard) const override;
  void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const override;

 private:
  void combine_block(AggregationMethod method, std::span<std::byte* const> terms, std::span<std::byte* const> to,
                     Shard block) const;
  float* slot(std::size_t index) const { return blocks_.as<float>() + index * slot_elements_; }

  void sum(std::span<const float* const> terms, float* to, std::size_t count) const;

  const StepKernels& kernels_;
  const Buffer blocks_;  ///< a slot for each term, and one for the sum
  const std::size_t slot_elements_;
  mutable std::vector<float*> here_;         ///< a block's terms on this device
  mutable std::vector<const float*> order_;  ///< the same, as they are added
  mutable std::vector<scalar::GradientSource> sources_;
  Stream* stream_ = nullptr;
  std::byte* mine_ = nullptr;
};

}  // namespace mirrortrain
