#include "strategy/reduction/gather_ahead.h"

#include "device/cpu/background_stream.h"

namespace mirrortrain {

GatherAhead::GatherAhead(Device& device, bool on_host, Communicator& others, std::size_t gathers)
    : others_(others),
      begin_(device.make_event()),
      gathers_(gathers),
      stream_(make_communication_stream(device, on_host)) {
  for (Gather& one : gathers_) one.end = device.make_event();
}

void GatherAhead::start(DomainLane& lane, const std::function<void(Stream&)>& gather, std::size_t which) {
  Gather& own = gathers_[which];
  lane.stream->record(*begin_);
  stream_->wait(*begin_);
  gather(*stream_);
  stream_->record(*own.end);
  own.is_running = true;
}

void GatherAhead::finish(DomainLane& lane, std::size_t which) {
  Gather& own = gathers_[which];
  if (!own.is_running) return;
  own.is_running = false;
  lane.wait_for_sums([&] { lane.stream->wait(*own.end); });
  others_.check();
}

void GatherAhead::wait_on(Stream& stream) const {
  for (const Gather& one : gathers_) {
    if (one.is_running) stream.wait(*one.end);
  }
}

}  // namespace mirrortrain
