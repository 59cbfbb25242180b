#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace mirrortrain {

/// The index-th CPU device: `threads` threads in this machine's memory, pinned to `cores` (one per thread; none: not
/// pinned).
std::unique_ptr<Device> make_cpu_device(int index, int threads, std::vector<int> cores);

/// A CPU's synchronous stream: the work is done when a call returns. To wait for another's event blocks the caller.
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
  void wait(const Event& event) override { event.synchronize(); }
  void synchronize() override {}
};

/// Zeroed host memory; large allocations use huge pages that are allocated on first touch. Throws Error, naming the
/// bytes, if there is not enough.
Buffer allocate_host_memory(std::size_t bytes);

/// This machine's memory; `free` is what this process could allocate, which a container may limit.
DeviceMemory host_memory();

/// Makes the calling thread flush denormals (numbers below 1e-38) to zero, as in TensorFlow: an optimizer's moments
/// decay into them, and processors are slow with them.
void flush_denormals();

/// Asks the scheduler for shorter but more frequent time slices for the calling thread if it shares a core: the same
/// total time, but a thread that others wait for is not delayed by another process for milliseconds. Needs Linux 6.12;
/// no effect on older ones.
void ask_for_short_slices();

/// The processor's name from /proc/cpuinfo.
std::string cpu_name();

/// Throws UsageError if this executable was compiled for instructions that the processor lacks.
void require_compiled_instructions();

/// Whether the processor multiplies bfloat16 in hardware (AVX512_BF16 or AMX).
bool cpu_has_bfloat16();

}  // namespace mirrortrain
