#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "strategy/variables/domain_lane.h"

namespace mirrortrain {

/// Gathers weights that the layers read next from other domains, on a stream of its own, while the lanes compute. What
/// the domain exchanges otherwise comes before the first gather begins or after the last is finished. Used by the
/// domain's first lane or, between steps, by the thread that drives the strategy. A host's stream takes up to
/// BackgroundStream::kMostAhead gathers at once, and has the lane wait for room for more.
class GatherAhead {
 public:
  /// `device`: of the lane; `on_host`: it is a CPU. `others`: the domain's rank, which must outlive this. `gathers`:
  /// how many there are.
  GatherAhead(Device& device, bool on_host, Communicator& others, std::size_t gathers = 1);

  /// `gather` enqueues it on the stream that it is given, after all that the lane's stream has enqueued so far, and
  /// after the gathers started before.
  void start(DomainLane& lane, const std::function<void(Stream&)>& gather, std::size_t which = 0);
  /// The lane's stream waits until the gather is done, if it has begun. Throws Error if it has failed.
  void finish(DomainLane& lane, std::size_t which = 0);
  /// The stream waits until all gathers that have begun are done; they are still to be finished.
  void wait_on(Stream& stream) const;

 private:
  struct Gather {
    std::unique_ptr<Event> end;
    bool is_running = false;
  };
  Communicator& others_;
  std::unique_ptr<Event> begin_;
  std::vector<Gather> gathers_;
  std::unique_ptr<Stream> stream_;  ///< last, so that its work ends first
};

}  // namespace mirrortrain
