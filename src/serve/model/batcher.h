#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/model/forward_pass.h"
#include "serve/model/request_reader.h"

namespace mirrortrain {

/// Examples that wait for their outputs.
struct PredictionJob {
  ReadyExamples examples;
  /// Called by the batcher's thread with the outputs, [rows, elements] each, or with the reason why there are none.
  std::function<void(std::vector<std::vector<float>> outputs, std::string error)> done;
};

/// What a batcher has done, for metrics.
struct BatcherCounts {
  std::atomic<std::int64_t> batches = 0, rows = 0;    ///< computed
  std::atomic<std::int64_t> compute_nanoseconds = 0;  ///< of batches
  std::atomic<std::int64_t> queue_nanoseconds = 0;    ///< that jobs waited, together
  std::atomic<std::int64_t> waiting = 0;              ///< jobs in the queue
};

/// Computes jobs of many threads in batches, first come, first served, on a thread of its own. A job that waits is
/// computed with those that arrive while the batch before it is computed; if nothing is computed, it waits for those
/// that are being read just then, but not longer than a given delay. Jobs larger than a batch are split.
class Batcher {
 public:
  struct Options {
    std::chrono::nanoseconds most_delay{};
    std::size_t most_waiting = 4096;                ///< jobs
    std::size_t most_bytes = std::size_t{1} << 30;  ///< of examples and outputs of jobs, unless there is only one
    /// How many requests are being read that may become jobs.
    std::function<int()> arriving{};
    /// Called between batches, at most once a second: may read weights anew.
    std::function<void()> between{};
  };
  /// `forward` must outlive the batcher, and is its thread's alone.
  Batcher(ForwardPass& forward, Options options);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  ~Batcher() { stop(); }
  /// Answers all jobs that wait, with an error those that are not being computed, and takes no more.
  void stop();

  /// Adds a job; returns false if too many wait, or after `stop`.
  bool add(PredictionJob job);
  /// Of so many examples and their outputs.
  std::size_t bytes_of(std::int64_t rows) const;
  const BatcherCounts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    PredictionJob job;
    Clock::time_point since;
    std::int64_t begun = 0, computed = 0;  ///< rows
    std::size_t bytes = 0;
    std::vector<std::vector<float>> outputs{};
    std::string error{};  ///< why there are none
  };
  struct Part {
    std::shared_ptr<Waiting> of;
    std::int64_t first, rows;
  };
  void work();
  void finish(Waiting& one);
  void refuse_waiting();
  void wait_for_more(std::unique_lock<std::mutex>& lock);
  std::vector<Part> take_batch();
  void compute(std::vector<Part> parts);

  ForwardPass& forward_;
  Options options_;
  BatcherCounts counts_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::shared_ptr<Waiting>> queue_;
  std::size_t bytes_ = 0;         ///< of jobs that are not done
  std::int64_t queued_rows_ = 0;  ///< of jobs in the queue that are in no batch yet
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mirrortrain
