#pragma once

#include <cstddef>

namespace mirrortrain {

/// Bytes of this process that are in memory.
struct ProcessMemory {
  std::size_t own = 0;    ///< allocated
  std::size_t files = 0;  ///< of the program, its libraries and other files that are mapped
  std::size_t peak = 0;   ///< the most at any time so far, of these and of memory shared with other processes
};

/// As the system counts it; zeros where it does not say.
ProcessMemory memory_of_process();

/// Gives back to the system what was allocated and freed, where the allocator keeps it.
void return_freed_memory();

}  // namespace mirrortrain
