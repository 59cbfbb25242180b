#include "simulated_gpu/host_cuda.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/launch.h"
#include "kernels/storage.h"

namespace mirrortrain::cuda {
namespace {

/// The message of the Error that a launch throws, or nothing.
template <class Body>
std::string error_of(dim3 block, const Body& body, std::size_t shared_bytes = 0) {
  try {
    host::run_grid({1}, block, shared_bytes, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void number_threads(std::vector<int>* seen, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) ++(*seen)[static_cast<std::size_t>(i)];
}

/// Sums over a block with one barrier per halving, or one too few.
void sum_block(const int* from, int* to, bool with_barrier) {
  int* shared = shared_memory<int>();
  shared[threadIdx.x] = from[threadIdx.x];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (with_barrier) __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *to = shared[0];
}

}  // namespace

TEST_CASE("every thread of every block runs once, in small, odd and huge grids") {
  testing::InlineStream stream;
  for (const unsigned blocks : {1u, 3u, 5000u}) {
    for (const unsigned threads : {1u, 31u, 96u, 1024u}) {
      std::vector<int> seen(7001);
      launch(stream, blocks, threads, 0, number_threads, &seen, std::int64_t{7001});
      CHECK(seen == std::vector<int>(7001, 1));
    }
  }
  launch(stream, 0, 256, 0, number_threads, nullptr, std::int64_t{0});  // nothing to do
}

TEST_CASE("thread and block numbers cover every axis") {
  std::set<std::vector<unsigned>> seen;
  host::run_grid({2, 3, 2}, {4, 2, 3}, 0, [&] {
    CHECK(blockDim.y == 2);
    CHECK(gridDim.y == 3);
    seen.insert({blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z});
  });
  CHECK(seen.size() == 12 * 24);
}

TEST_CASE("threads meet at barriers, and a missing barrier shows") {
  testing::InlineStream stream;
  std::vector<int> values(256, 1);
  std::set<int> with, without;
  for (int run = 0; run < 20; ++run) {
    int sum = 0;
    launch(stream, 1, 256, 256 * sizeof(int), sum_block, values.data(), &sum, true);
    with.insert(sum);
    launch(stream, 1, 256, 256 * sizeof(int), sum_block, values.data(), &sum, false);
    without.insert(sum);
  }
  CHECK(with == std::set<int>{256});
  CHECK(without.size() > 1);
}

TEST_CASE("shuffles move values between the lanes of each warp") {
  host::run_grid({2}, {96}, 0, [] {
    const int lane = static_cast<int>(threadIdx.x % 32), base = static_cast<int>(threadIdx.x) - lane;
    const int value = static_cast<int>(threadIdx.x);
    CHECK(__shfl_sync(kAllLanes, value, 5) == base + 5);
    CHECK(__shfl_xor_sync(kAllLanes, value, 3) == base + (lane ^ 3));
    CHECK(__shfl_down_sync(kAllLanes, value, 4) == base + (lane + 4 < 32 ? lane + 4 : lane));
    CHECK(__shfl_up_sync(kAllLanes, value, 4) == base + (lane >= 4 ? lane - 4 : lane));
    CHECK(__shfl_down_sync(kAllLanes, value, 4, 8) == base + (lane % 8 < 4 ? lane + 4 : lane));
    CHECK(__shfl_sync(kAllLanes, 0.5 * value, 31) == 0.5 * (base + 31));
    CHECK(__ballot_sync(kAllLanes, lane < 2) == 3u);
    CHECK(__any_sync(kAllLanes, lane == 7) != 0);
    CHECK(__all_sync(kAllLanes, lane == 7) == 0);
    if (lane < 16) CHECK(__shfl_xor_sync(0xffffu, value, 1) == base + (lane ^ 1));
    __syncwarp();
  });
}

TEST_CASE("atomics count whatever the order") {
  unsigned count = 0, largest = 0;
  host::run_grid({7}, {64}, 0, [&] {
    atomicAdd(&count, 1);
    atomicMax(&largest, threadIdx.x);
  });
  CHECK(count == 7 * 64);
  CHECK(largest == 63);
}

TEST_CASE("static shared memory belongs to the block") {
  host::run_grid({5}, {64}, 0, [] {
    __shared__ unsigned value;
    if (threadIdx.x == 0) value = blockIdx.x;
    __syncthreads();
    CHECK(value == blockIdx.x);
  });
}

TEST_CASE("divergence at a barrier or an exchange is an error") {
  const std::string left = error_of({64}, [] {
    if (threadIdx.x == 3) return;
    __syncthreads();
  });
  CHECK(contains(left, "1 of 64 threads have left the block, 63 wait for them at the barrier host_cuda_test.cpp:"));
  const std::string apart = error_of({64}, [] {
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncthreads();
  });
  CHECK(contains(apart, "threads of a block wait at host_cuda_test.cpp:"));
  const std::string warp = error_of({32}, [] {
    if (threadIdx.x < 31) __shfl_sync(kAllLanes, 1, 0);
  });
  CHECK(contains(warp, "1 of 32 threads have left the block, 31 wait for lanes at host_cuda_test.cpp:"));
  CHECK(contains(error_of({20}, [] { __syncwarp(); }), "20 wait for lanes"));
  const std::string masks = error_of({32}, [] { __syncwarp(threadIdx.x < 8 ? 0xffffu : kAllLanes); });
  CHECK(contains(masks, ", 8 wait for lanes"));
  CHECK(contains(masks, ", 24 wait for lanes"));
  CHECK(contains(error_of({32}, [] { __shfl_sync(0xffffu, 1, 20); }), "outside the mask"));
}

TEST_CASE("what a device refuses and writes past shared memory are errors") {
  CHECK(contains(error_of({2000}, [] {}), "a device refuses a grid of 1 x 1 x 1 blocks of 2000 threads"));
  CHECK(contains(error_of(
                     {1}, [] {}, 1 << 20),
                 "1048576 bytes of shared memory"));
  CHECK(error_of(
            {8}, [] { shared_memory<float>()[8] = 1; }, 8 * sizeof(float)) ==
        "a block wrote past its dynamic shared memory");
  CHECK(error_of({1}, [] { throw Error("thrown on"); }) == "thrown on");
  CHECK(error_of({64}, [] { __syncthreads(); }) == "");  // and the next launch is as good as any
}

}  // namespace mirrortrain::cuda
