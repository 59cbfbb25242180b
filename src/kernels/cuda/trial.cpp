#include "kernels/cuda/trial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/round_up.h"
#include "device/cuda/cuda_check.h"

namespace mirrortrain::cuda {
namespace {

constexpr std::size_t kRuns = 5;

/// cudaMalloc's alignment.
constexpr std::size_t kAlignment = 256;

/// A point in a stream's work, and the time when it was reached.
class TimedPoint {
 public:
  TimedPoint() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~TimedPoint() { cudaEventDestroy(event_); }
  TimedPoint(const TimedPoint&) = delete;
  TimedPoint& operator=(const TimedPoint&) = delete;

  void record(CudaStream& stream) { check(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  double milliseconds_since(const TimedPoint& before) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, before.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Holds a stream's work until all of it is enqueued: small kernels run faster than the host enqueues them, while a
/// captured step does not wait for the host. Gives up after a short time, because enqueuing may wait for the stream.
class Gate {
 public:
  explicit Gate(CudaStream& stream) : stream_(stream) { stream.call(&Gate::pass, this); }
  ~Gate() {
    open();
    cudaStreamSynchronize(stream_.get());  // a failure was or will be reported by another call
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }

 private:
  static void pass(void* gate) {
    auto& self = *static_cast<Gate*>(gate);
    std::unique_lock lock(self.mutex_);
    self.opened_.wait_for(lock, std::chrono::milliseconds(100), [&] { return self.is_open_; });
  }

  CudaStream& stream_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

/// The resources that candidates run with.
class Trial {
 public:
  Trial(int gpu, const Candidates& candidates) : current_(gpu), stream_(gpu), enqueue_(candidates.enqueue) {
    std::size_t bytes = 0;
    for (const std::size_t operand : candidates.operand_bytes) bytes += round_up(operand, kAlignment);
    const std::size_t operands = bytes;
    bytes += *std::max_element(candidates.workspace_bytes.begin(), candidates.workspace_bytes.end());
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // has_memory reports it
      return;
    }
    check(error, "cudaMalloc");
    memory_ = Buffer(static_cast<std::byte*>(memory), bytes, [](std::byte* data) { cudaFree(data); });
    stream_.zero(memory_.data(), operands);
    std::byte* next = memory_.data();
    for (const std::size_t operand : candidates.operand_bytes) {
      operands_.push_back(operand > 0 ? next : nullptr);
      next += round_up(operand, kAlignment);
    }
    workspace_ = next;
  }

  bool has_memory() const { return memory_.data() != nullptr; }

  /// The minimum of a few runs; nullopt if the candidate cannot run.
  std::optional<double> milliseconds(std::size_t candidate) {
    const auto run = [&] { enqueue_(candidate, stream_, operands_, workspace_); };
    try {
      run();  // loads the kernels
      stream_.synchronize();
      Gate gate(stream_);
      points_[0].record(stream_);
      for (std::size_t i = 1; i <= kRuns; ++i) {
        run();
        points_[i].record(stream_);
      }
      gate.open();
      stream_.synchronize();
    } catch (const Error&) {
      cudaGetLastError();  // otherwise the next launch would report it
      return std::nullopt;
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i <= kRuns; ++i) least = std::min(least, points_[i].milliseconds_since(points_[i - 1]));
    return least;
  }

 private:
  CurrentDevice current_;
  Buffer memory_;
  CudaStream stream_;
  std::array<TimedPoint, kRuns + 1> points_;
  std::vector<void*> operands_;
  std::byte* workspace_ = nullptr;
  decltype(Candidates::enqueue) enqueue_;
};

}  // namespace

std::size_t choose_by_trial(Choices& choices, const std::string& problem, int gpu, const Candidates& candidates) {
  std::optional<Trial> trial;
  return choices.choose(problem, candidates.workspace_bytes.size(),
                        [&](std::size_t candidate) -> std::optional<double> {
                          if (!trial) trial.emplace(gpu, candidates);
                          return trial->has_memory() ? trial->milliseconds(candidate) : std::nullopt;
                        });
}

}  // namespace mirrortrain::cuda
