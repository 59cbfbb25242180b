#include "collective/all_reduce_timer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <thread>

#include "base/error.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUps = 2, kLeastRepetitions = 5, kMostRepetitions = 10000;
constexpr double kEnoughSeconds = 0.08;  // for one size, checking included

/// Whole numbers up to 255, so that their sums are exact in any order; every element, rank and repetition has its own.
float element(std::uint32_t index, std::uint32_t rank, std::uint32_t repetition) {
  return static_cast<float>((index * 2654435761u + rank * 40503u * 65536u + repetition * 2246822519u) >> 24);
}

void fill(std::span<float> elements, int rank, int repetition) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank),
                          static_cast<std::uint32_t>(repetition));
  }
}

std::uint64_t count_wrong(std::span<const float> elements, int ranks, int repetition) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      sum += element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank),
                     static_cast<std::uint32_t>(repetition));
    }
    wrong += elements[i] != sum;
  }
  return wrong;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Timer {
 public:
  Timer(const LocalGroupOptions& options, std::span<Device* const> devices, std::span<const std::size_t> counts,
        const std::function<void(std::size_t, const AllReduceTiming&)>& report)
      : devices_(devices),
        counts_(counts),
        report_(report),
        group_(static_cast<int>(devices.size()), options),
        buffers_(devices.size()),
        seconds_(devices.size()),
        wrong_(devices.size()),
        failures_(devices.size()) {}

  void run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < group_.size(); ++rank) {
      threads.emplace_back([this, rank] {
        try {
          run_rank(group_.communicator(rank));
        } catch (const std::exception& error) {
          failures_[static_cast<std::size_t>(rank)] = std::current_exception();
          group_.communicator(rank).abort(error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  void run_rank(Communicator& communicator) {
    Device& device = *devices_[static_cast<std::size_t>(communicator.rank())];
    device.enter_thread();
    Buffer& buffer = buffers_[static_cast<std::size_t>(communicator.rank())];
    buffer = device.allocate(*std::max_element(counts_.begin(), counts_.end()) * sizeof(float));
    for (std::size_t index = 0; index < counts_.size(); ++index) {
      const std::span<float> elements(buffer.as<float>(), counts_[index]);
      const auto start = Clock::now();
      for (int repetition = 0; repetition == 0 || more_; ++repetition) {
        repeat(communicator, elements, repetition);
        if (communicator.rank() == 0) take_stock(index, repetition, start);
        communicator.barrier();
      }
    }
  }

  void repeat(Communicator& communicator, std::span<float> elements, int repetition) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    fill(elements, communicator.rank(), repetition);
    communicator.barrier();
    const auto start = Clock::now();
    communicator.all_reduce(elements);
    seconds_[rank] = std::chrono::duration<double>(Clock::now() - start).count();
    wrong_[rank] = count_wrong(elements, communicator.size(), repetition);
    communicator.barrier();
  }

  /// On rank 0, while the others wait.
  void take_stock(std::size_t index, int repetition, Clock::time_point start) {
    if (repetition >= kWarmUps) times_.push_back(*std::max_element(seconds_.begin(), seconds_.end()));
    total_wrong_ += std::accumulate(wrong_.begin(), wrong_.end(), std::uint64_t{0});
    const auto done = static_cast<int>(times_.size());
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    more_ = done < kLeastRepetitions || (done < kMostRepetitions && spent < kEnoughSeconds);
    if (more_) return;
    report_(index, {median(times_), total_wrong_});
    times_.clear();
    total_wrong_ = 0;
  }

  const std::span<Device* const> devices_;
  const std::span<const std::size_t> counts_;
  const std::function<void(std::size_t, const AllReduceTiming&)>& report_;
  LocalGroup group_;
  std::vector<Buffer> buffers_;       ///< by rank; they outlive every rank's work
  std::vector<double> seconds_;       ///< of this repetition, by rank
  std::vector<std::uint64_t> wrong_;  ///< likewise
  std::vector<std::exception_ptr> failures_;
  std::vector<double> times_;  ///< rank 0's
  std::uint64_t total_wrong_ = 0;
  bool more_ = true;  ///< written by rank 0 between two barriers
};

}  // namespace

void time_all_reduce(const LocalGroupOptions& options, std::span<Device* const> devices,
                     std::span<const std::size_t> counts,
                     const std::function<void(std::size_t index, const AllReduceTiming& timing)>& report) {
  Timer(options, devices, counts, report).run();
}

}  // namespace mirrortrain
