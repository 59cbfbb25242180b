#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

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

/// Zeroed memory of this machine, in huge pages that come when they are touched where it is large. Throws Error, naming
/// the bytes, where there is none.
Buffer allocate_host_memory(std::size_t bytes);

/// Of this machine; free is what it could give to this process, which may be in a container with a limit.
DeviceMemory host_memory();

/// From here on the calling thread takes numbers below 1e-38 for zero, as in TensorFlow: an optimizer's moments decay
/// into them, and processors are slow there.
void flush_denormals();

/// The cores that this process may run on, ascending: those of the first call, before any thread is pinned.
std::vector<int> usable_cores();

/// The processor's name, as the machine names it.
std::string cpu_name();

/// Throws UsageError where this executable was compiled for instructions that the processor lacks.
void require_compiled_instructions();

/// Whether the processor multiplies bfloat16 in hardware (AVX512_BF16 or AMX).
bool cpu_has_bfloat16();

}  // namespace mirrortrain
