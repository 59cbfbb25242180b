#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "device/cpu/cpu_device.h"

namespace mirrortrain {

/// A CPU's stream that makes its calls on a background thread, on any free core, so that the caller continues
/// meanwhile. Copies wait for earlier calls. Driven by one thread. Calls allocate nothing. It records CpuEvents.
class BackgroundStream : public InlineStream {
 public:
  /// Calls that can be enqueued before the first is done; the next one waits.
  static constexpr std::size_t kMostAhead = 64;

  BackgroundStream() : thread_([this] { run(); }) {}
  /// Makes the remaining calls first.
  ~BackgroundStream() override;

  void call(void (*function)(void*), void* argument) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void record(Event& event) override;
  void synchronize() override { wait_until_done(enqueued_.load(std::memory_order_relaxed)); }

 private:
  struct Call {
    void (*function)(void*) = nullptr;  ///< null: the end
    void* argument = nullptr;
  };
  friend class CpuEvent;
  void run();
  void wait_until_done(std::uint64_t calls) const;

  std::array<Call, kMostAhead> calls_;
  std::atomic<std::uint64_t> enqueued_ = 0, done_ = 0;
  std::thread thread_;  ///< last, as it uses the rest
};

/// A CPU's event. Of an inline stream, whose work is done when it is recorded, it has happened at once; of a background
/// stream, which must outlive all that wait for it, when the calls before it are done.
class CpuEvent : public Event {
 public:
  void synchronize() const override {
    if (stream_ != nullptr) stream_->wait_until_done(calls_);
  }

 private:
  friend class BackgroundStream;
  const BackgroundStream* stream_ = nullptr;
  std::uint64_t calls_ = 0;
};

/// A stream for communication while the lanes compute: of a device with memory of its own, or of a CPU, `on_host`.
std::unique_ptr<Stream> make_communication_stream(Device& device, bool on_host);

}  // namespace mirrortrain
