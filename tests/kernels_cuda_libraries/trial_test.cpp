#include "kernels/cuda/trial.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_device.h"

using namespace mirrortrain;

namespace {

constexpr std::size_t kLarge = std::size_t{1} << 28;

/// Candidates that set the first bytes of an operand to zero, some number each; 0 cannot run.
cuda::Candidates setting(std::vector<std::size_t> bytes) {
  cuda::Candidates made;
  made.operand_bytes = {kLarge, 0};
  made.workspace_bytes.resize(bytes.size());
  made.enqueue = [bytes](std::size_t candidate, cuda::CudaStream& stream, std::span<void* const> operands, std::byte*) {
    if (bytes[candidate] == 0) throw Error("it does not run");
    stream.zero(static_cast<std::byte*>(operands[0]), bytes[candidate]);
  };
  return made;
}

}  // namespace

TEST_CASE("the candidate that is fastest on the GPU is chosen, and one that does not run passed over") {
  cuda::Choices choices;
  CHECK(cuda::choose_by_trial(choices, "last", 0, setting({kLarge, kLarge / 4, 4096})) == 2);
  CHECK(cuda::choose_by_trial(choices, "middle", 0, setting({kLarge, 4096, kLarge / 4})) == 1);
  CHECK(cuda::choose_by_trial(choices, "first fails", 0, setting({0, kLarge, 4096})) == 2);
  CHECK(cuda::choose_by_trial(choices, "all fail", 0, setting({0, 0})) == 0);
  CHECK(cuda::choose_by_trial(choices, "last", 0, setting({4096, kLarge})) == 2);
}

TEST_CASE("the host's time to enqueue a candidate does not count") {
  cuda::Choices choices;
  cuda::Candidates candidates = setting({4096, kLarge});
  candidates.enqueue = [enqueue = candidates.enqueue](std::size_t candidate, auto&&... rest) {
    if (candidate == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    enqueue(candidate, rest...);
  };
  CHECK(cuda::choose_by_trial(choices, "slow host", 0, candidates) == 0);
}

TEST_CASE("candidates get zeros, a null pointer for an operand that does not exist, and the largest workspace") {
  cuda::Choices choices;
  cuda::Candidates candidates;
  candidates.operand_bytes = {100, 0, 4};
  candidates.workspace_bytes = {16, 1 << 20};
  std::vector<unsigned char> seen(100, 1);
  bool as_told = true;
  candidates.enqueue = [&](std::size_t, cuda::CudaStream& stream, std::span<void* const> operands,
                           std::byte* workspace) {
    as_told = as_told && operands.size() == 3 && operands[1] == nullptr && operands[2] > operands[0];
    stream.copy(reinterpret_cast<std::byte*>(seen.data()), static_cast<std::byte*>(operands[0]), seen.size());
    stream.zero(workspace, 1 << 20);
  };
  cuda::choose_by_trial(choices, "operands", 0, candidates);
  CHECK(as_told);
  CHECK(seen == std::vector<unsigned char>(100, 0));
}

TEST_CASE("where memory to measure in is short the first candidate is kept, and nothing runs") {
  cuda::Choices choices;
  cuda::Candidates candidates = setting({kLarge, 4096});
  candidates.operand_bytes[1] = std::size_t{1} << 46;
  bool ran = false;
  candidates.enqueue = [&](auto&&...) { ran = true; };
  CHECK(cuda::choose_by_trial(choices, "large", 0, candidates) == 0);
  CHECK_FALSE(ran);
}

TEST_CASE("the memory that measuring took is given back") {
  const auto gpu = make_cuda_device(0);
  cuda::Choices choices;
  cuda::choose_by_trial(choices, "before", 0, setting({4096, 4096}));
  const std::size_t free = gpu->memory().free;
  cuda::choose_by_trial(choices, "after", 0, setting({4096, 4096}));
  CHECK(gpu->memory().free > free - kLarge / 2);
}
