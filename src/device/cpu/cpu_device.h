#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace mirrortrain {

/// The index-th CPU replica's place: `threads` threads on this machine's one memory, pinned to `cores` (one per thread;
/// none: not pinned).
std::unique_ptr<Device> make_cpu_device(int index, int threads, std::vector<int> cores);

/// The cores that this process may run on, ascending.
std::vector<int> usable_cores();

/// The processor's name, as the machine tells it.
std::string cpu_name();

/// Throws UsageError where this executable was compiled for instructions that the processor lacks.
void require_compiled_instructions();

/// Whether the processor multiplies bfloat16 in hardware (AVX512_BF16 or AMX).
bool cpu_has_bfloat16();

}  // namespace mirrortrain
