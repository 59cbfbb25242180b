#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/channel.h"
#include "device/device.h"

namespace mirrortrain {

/// The index-th CPU replica's place: `threads` threads on this machine's one memory, pinned to `cores` (one per thread;
/// none: not pinned).
std::unique_ptr<Device> make_cpu_device(int index, int threads, std::vector<int> cores);

/// A CPU's stream: the work is done by the time a call returns, so there is nothing to wait for.
class InlineStream : public Stream {
 public:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  void call(void (*function)(void*), void* argument) override { function(argument); }
  void record(Event&) override {}
  void wait(const Event&) override {}
  void synchronize() override {}
};

/// A CPU's stream whose calls a thread of its own makes, so that the caller continues meanwhile; it goes to whichever
/// core is free. Copies are made at once, as on an InlineStream. Recording an event waits for the calls before it.
class BackgroundStream : public InlineStream {
 public:
  BackgroundStream() : thread_([this] { run(); }) {}
  /// Makes the calls that are left first.
  ~BackgroundStream() override;

  void call(void (*function)(void*), void* argument) override;
  void record(Event&) override { synchronize(); }
  void synchronize() override;

 private:
  void run();

  Channel<std::pair<void (*)(void*), void*>> calls_;
  std::atomic<std::uint64_t> enqueued_ = 0, done_ = 0;
  std::thread thread_;  ///< last, as it uses the rest
};

/// Zeroed memory of this machine, in huge pages that come when they are touched where it is large. Throws Error, naming
/// the bytes, where there is none.
Buffer allocate_host_memory(std::size_t bytes);

/// Of this machine; free is what it could give to this process, which may be in a container with a limit.
DeviceMemory host_memory();

/// The cores that this process may run on, ascending.
std::vector<int> usable_cores();

/// The processor's name, as the machine tells it.
std::string cpu_name();

/// Throws UsageError where this executable was compiled for instructions that the processor lacks.
void require_compiled_instructions();

/// Whether the processor multiplies bfloat16 in hardware (AVX512_BF16 or AMX).
bool cpu_has_bfloat16();

}  // namespace mirrortrain
