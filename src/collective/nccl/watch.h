#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collective/call_barrier.h"
#include "device/cuda/cuda_stream.h"

namespace mirrortrain::nccl {

/// Tracks which of a rank's operations have started and which have ended. Used by the rank's thread.
class Watch {
 public:
  /// On the thread's current GPU, `gpu`.
  Watch(int gpu, double timeout_seconds);

  /// Whether `begin` has to wait for operations to end first.
  bool full() const { return next_ - oldest_ == kAhead; }
  /// Called before and after enqueuing an operation.
  void begin(Stream& stream, const CollectiveCall& call);
  void end(Stream& stream);

  /// Updates which operations have started and ended.
  void look();
  /// The number, from 0, of an operation that had been running longer than the timeout as of the last look().
  std::optional<std::uint64_t> overdue() const;
  /// The number of the oldest operation that had not ended as of the last look().
  std::optional<std::uint64_t> oldest() const { return oldest_ < next_ ? std::optional(oldest_) : std::nullopt; }
  const CollectiveCall& call(std::uint64_t number) const { return marks_[number % kAhead].call; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kAhead = Communicator::kMostAhead;  ///< maximum operations in flight

  struct Mark {
    cuda::CudaEvent started, ended;
    CollectiveCall call;
  };

  bool happened(const cuda::CudaEvent& event) const;

  const int gpu_;
  const double timeout_seconds_;
  std::array<Mark, kAhead> marks_;
  std::uint64_t oldest_ = 0, next_ = 0;             ///< operations [oldest_, next_) are not known to have ended
  std::optional<Clock::time_point> running_since_;  ///< when `oldest_` was first seen running
};

}  // namespace mirrortrain::nccl
