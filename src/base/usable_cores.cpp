#include "base/usable_cores.h"

#include <sched.h>

namespace mirrortrain {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::vector<int> usable_cores() {
  static const std::vector<int> at_first = allowed_cores();
  return at_first;
}

}  // namespace mirrortrain
