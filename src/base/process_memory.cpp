#include "base/process_memory.h"

#include <malloc.h>

#include <fstream>
#include <limits>
#include <string>

namespace mirrortrain {

ProcessMemory memory_of_process() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::size_t* const to = key == "RssAnon:"   ? &memory.own
                            : key == "RssFile:" ? &memory.files
                            : key == "VmHWM:"   ? &memory.peak
                                                : nullptr;
    std::size_t kilobytes = 0;
    if (to != nullptr && status >> kilobytes) *to = kilobytes * 1024;
  }
  return memory;
}

void return_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace mirrortrain
