#include "strategy/reduction/gather_ahead.h"

#include <chrono>

#include "device/cpu/background_stream.h"

namespace mirrortrain {

GatherAhead::GatherAhead(Device& device, bool on_host, Communicator& others)
    : others_(others),
      begin_(device.make_event()),
      end_(device.make_event()),
      stream_(make_communication_stream(device, on_host)) {}

void GatherAhead::start(DomainLane& lane, const std::function<void(Stream&)>& gather) {
  lane.stream->record(*begin_);
  stream_->wait(*begin_);
  gather(*stream_);
  is_running_ = true;
}

void GatherAhead::finish(DomainLane& lane) {
  if (!is_running_) return;
  is_running_ = false;
  const auto start = std::chrono::steady_clock::now();
  stream_->record(*end_);
  lane.stream->wait(*end_);
  lane.waited_for_sums += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  others_.check();
}

}  // namespace mirrortrain
