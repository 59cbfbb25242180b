#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "kernels/step_kernels.h"
#include "strategy/gradients/gradient_packs.h"
#include "strategy/variables/mirror.h"

namespace mirrortrain {

/// A lane's part in bringing gradients together across devices with memory of their own. A pack that is full is added
/// up over the lane's replicas, then over the lanes, on a stream of its own, while backward goes on.
class DeviceExchange {
 public:
  /// `mirror`, `kernels` and `communicator` must outlive it.
  DeviceExchange(Device& device, const Mirror& mirror, const StepKernels& kernels, Communicator& communicator,
                 std::uint64_t bytes_per_pack);

  GradientPacks& packs() { return packs_; }
  /// Of the device's memory, where it is known.
  std::size_t bytes() const { return numbers_.bytes() + communicator_.bytes(); }

  /// Work enqueued to `compute` until now fills the pack; `examples`: of the global batch.
  void reduce(Stream& compute, std::size_t index, std::int64_t examples);
  /// Work enqueued to `compute` from here on finds the sums of every pack in replica 0's gradients.
  void finish(Stream& compute);

  /// Adds `elements` of each lane to everybody's. After `finish`, before the next step's first pack. `what` they are,
  /// for errors, outlives this.
  void all_reduce(Stream& compute, float* elements, std::int64_t count, std::string_view what);
  /// The same for one number of more precision.
  void sum_number(Stream& compute, double* number, std::string_view what);

  /// Waits for what is enqueued. Throws Error where lanes do not come together.
  void synchronize(Stream& compute) { communicator_.synchronize(compute); }

  /// On the lane's thread: lets the others know that this one has failed.
  void abort(const char* reason) { communicator_.abort(reason); }

 private:
  const Mirror& mirror_;
  const StepKernels& kernels_;
  Communicator& communicator_;
  GradientPacks packs_;
  const Buffer numbers_;  ///< a shard for each lane, which begins with the lane's number, with zeros behind it
  std::vector<scalar::GradientSource> sources_;  ///< of the pack that is being reduced
  std::unique_ptr<Event> full_, done_;           ///< a pack; every one
  std::unique_ptr<Stream> stream_;               ///< last, so that its work ends first
};

}  // namespace mirrortrain
