#include <dlfcn.h>
#include <doctest/doctest.h>
#include <omp.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "device/cpu/parallel_loops.h"

// What libdnnl calls: device/cpu/openmp.cpp.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
}

namespace {

struct Seen {
  std::array<std::atomic<int>, 3> times{};
  std::atomic<int> wrong = 0;
  std::array<int, 3> before_barrier{};
};

void region(void* data) {
  auto& seen = *static_cast<Seen*>(data);
  const auto own = static_cast<std::size_t>(omp_get_thread_num());
  seen.wrong += omp_get_num_threads() == 3 && omp_in_parallel() == 1 ? 0 : 1;
  ++seen.times[own];
  seen.before_barrier[own] = 1;
  GOMP_barrier();
  for (const int there : seen.before_barrier) seen.wrong += 1 - there;
  GOMP_parallel([](void* all) { static_cast<Seen*>(all)->wrong += omp_get_num_threads() == 1 ? 0 : 1; }, &seen, 2, 0);
  seen.wrong += omp_get_thread_num() == static_cast<int>(own) ? 0 : 1;
}

}  // namespace

TEST_CASE("oneDNN's regions run on our threads, not on libgomp's") {
  Dl_info found{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "GOMP_parallel"), &found) != 0);  // which every library gets
  CHECK(std::string(found.dli_fname).find("libgomp") == std::string::npos);
}

TEST_CASE("a region's threads have a number each, and wait for each other at a barrier") {
  Seen seen;
  GOMP_parallel(region, &seen, 3, 0);
  for (const auto& times : seen.times) CHECK(times == 1);
  CHECK(seen.wrong == 0);
  CHECK(omp_get_num_threads() == 1);
  CHECK(omp_in_parallel() == 0);
}

TEST_CASE("a region has the number of threads that was set, and one in a part of a loop of ours") {
  const int before = omp_get_max_threads();
  omp_set_num_threads(2);
  std::atomic<int> outside = 0, inside = 0;
  const auto count = [](void* regions) { ++*static_cast<std::atomic<int>*>(regions); };
  GOMP_parallel(count, &outside, 0, 0);
  CHECK(outside == 2);
  mirrortrain::parallel_for(2, 2, 1, [&](std::int64_t, std::int64_t) { GOMP_parallel(count, &inside, 0, 0); });
  CHECK(inside == 2);
  omp_set_num_threads(before);
}
