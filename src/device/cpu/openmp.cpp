// The functions of an OpenMP runtime that libdnnl calls (GCC's interface, libgomp.so.1), so that oneDNN's parallel
// regions run on the calling thread's ThreadTeam as our loops do. A program's own definitions are taken before those of
// the shared library. libgomp's threads would each compute a fixed share, and if one of them loses its core to another
// process, the others would wait for it through all of that process's time slice, in every region.
#include <omp.h>

#include <algorithm>

#include "base/usable_cores.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/thread_team.h"

namespace mirrortrain {
namespace {

/// Where the calling thread is: in which part of how many, outside of a region in the only one.
struct OpenMpPlace {
  ThreadTeam* team = nullptr;
  int number = 0, count = 1;
  bool in_parallel = false;
};
thread_local OpenMpPlace openmp_place;
thread_local int openmp_threads = 0;  ///< of a region that does not say; 0: all cores

/// Regions inside of others, or of a part of a loop of ours, have one thread.
bool is_in_parallel() { return openmp_place.in_parallel || ThreadTeam::is_inside_part(); }

struct Region {
  void (*body)(void*);
  void* data;
  ThreadTeam* team;
  int count;

  void run(int number) {
    const OpenMpPlace before = openmp_place;
    openmp_place = {team, number, count, before.in_parallel || count > 1};
    body(data);
    openmp_place = before;
  }
};

}  // namespace
}  // namespace mirrortrain

// Visible to shared libraries, whatever the compiler's default.
#define MIRRORTRAIN_OPENMP extern "C" __attribute__((visibility("default")))

using namespace mirrortrain;

MIRRORTRAIN_OPENMP int omp_get_max_threads() noexcept {
  return openmp_threads > 0 ? openmp_threads : static_cast<int>(usable_cores().size());
}
MIRRORTRAIN_OPENMP void omp_set_num_threads(int threads) noexcept { openmp_threads = std::max(threads, 1); }
MIRRORTRAIN_OPENMP int omp_get_num_threads() noexcept { return openmp_place.count; }
MIRRORTRAIN_OPENMP int omp_get_thread_num() noexcept { return openmp_place.number; }
MIRRORTRAIN_OPENMP int omp_in_parallel() noexcept { return is_in_parallel() ? 1 : 0; }

/// `threads`: 0 for as many as omp_get_max_threads() says.
MIRRORTRAIN_OPENMP void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  const int wanted = threads > 0 ? static_cast<int>(threads) : omp_get_max_threads();
  Region region{body, data, &ThreadTeam::of_this_thread(), is_in_parallel() ? 1 : wanted};
  region.team->run(
      region.count, region.count, [](void* one, int number) noexcept { static_cast<Region*>(one)->run(number); },
      &region);
}

MIRRORTRAIN_OPENMP void GOMP_barrier() {
  if (openmp_place.count > 1) openmp_place.team->meet(openmp_place.count);
}
