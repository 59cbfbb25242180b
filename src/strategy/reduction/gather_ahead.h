#pragma once

#include <functional>
#include <memory>

#include "collective/communicator.h"
#include "device/device.h"
#include "strategy/variables/domain_lane.h"

namespace mirrortrain {

/// Gathers weights that the layers read next from other domains, on a stream of its own, while the lanes compute. One
/// gather at a time; what the domain exchanges otherwise comes before it begins or after it is finished. Used by the
/// domain's first lane.
class GatherAhead {
 public:
  /// `device`: of the lane; `on_host`: it is a CPU. `others`: the domain's rank, which must outlive this.
  GatherAhead(Device& device, bool on_host, Communicator& others);

  /// `gather` enqueues it on the stream that it is given, after all that the lane's stream has enqueued so far.
  void start(DomainLane& lane, const std::function<void(Stream&)>& gather);
  /// The lane's stream waits until the gather is done, if one has begun. Throws Error if it has failed.
  void finish(DomainLane& lane);

 private:
  Communicator& others_;
  std::unique_ptr<Event> begin_, end_;
  bool is_running_ = false;
  std::unique_ptr<Stream> stream_;  ///< last, so that its work ends first
};

}  // namespace mirrortrain
