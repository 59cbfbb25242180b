#pragma once

#include <cstdint>
#include <string_view>

#include "collective/communicator.h"
#include "device/device.h"
#include "kernels/step_kernels.h"
#include "strategy/reduction/gathered_rows.h"

namespace mirrortrain {

/// A memory domain's link to the run's other domains, through its rank of a communicator. Used by the domain's first
/// lane.
class DomainLink {
 public:
  /// `kernels` and `communicator` must outlive it.
  DomainLink(Device& device, const StepKernels& kernels, Communicator& communicator);

  Communicator& communicator() const { return communicator_; }
  /// Size in the device's memory, as far as known.
  std::size_t bytes() const { return numbers_.bytes() + communicator_.bytes(); }

  /// All-reduces `elements` over all domains, by sum. `what`: a description for errors; must outlive this.
  void all_reduce(Stream& stream, std::span<float> elements, std::string_view what) const {
    communicator_.all_reduce(stream, {elements, what});
  }
  /// The same for one number of double precision.
  void sum_number(Stream& stream, double* number, std::string_view what) const;

 private:
  const StepKernels& kernels_;
  Communicator& communicator_;
  const GatheredRows numbers_;  ///< one from each domain
};

}  // namespace mirrortrain
