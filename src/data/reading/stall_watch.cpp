#include "data/reading/stall_watch.h"

#include <fmt/format.h>

#include <chrono>

#include "data/dataset.h"
#include "data/example_source.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kTicksPerSecond = 10;

}  // namespace

StallWatch::StallWatch(double seconds, OnStall on_stall)
    : seconds_(seconds), on_stall_(std::move(on_stall)), thread_([this] { work(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void StallWatch::work() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::milliseconds(1000 / kTicksPerSecond), [&] { return is_over_; })) {
    ++ticks_;
    for (const Reading* reading = first_; reading != nullptr; reading = reading->next_) {
      const std::int64_t waited = ticks_ - reading->begun_ - 1;  // it began within a tick
      if (static_cast<double>(waited) < seconds_ * kTicksPerSecond) continue;
      const std::string what = fmt::format(
          "{} was not read within {:g} s: the disk or the network that it lies on hangs, or is slower than "
          "training.stall_timeout_seconds allows",
          reading->place_text(), seconds_);
      lock.unlock();
      return on_stall_(what);
    }
  }
}

StallWatch::Reading::Reading(StallWatch* watch, const ExampleSource* source, const Array* array, std::int64_t row)
    : watch_(watch), source_(source), array_(array), row_(row) {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(watch_->mutex_);
  begun_ = watch_->ticks_;
  next_ = watch_->first_;
  if (next_ != nullptr) next_->previous_ = this;
  watch_->first_ = this;
}

/// Must not read: it would hang as the read that it names.
std::string StallWatch::Reading::place_text() const {
  return source_ != nullptr ? source_->place_text(row_) : array_->row_text(row_);
}

StallWatch::Reading::~Reading() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(watch_->mutex_);
  (previous_ != nullptr ? previous_->next_ : watch_->first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}
}  // namespace mirrortrain::data
