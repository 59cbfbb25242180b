#include "collective/all_reduce_timer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/barrier.h"
#include "collective/repetitions.h"
#include "collective/sample_elements.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

class Timer {
 public:
  Timer(std::span<Communicator* const> ranks, std::span<Device* const> devices, std::span<const std::size_t> counts,
        const AllReduceTimerOptions& options, const std::function<void(std::size_t, const AllReduceTiming&)>& report)
      : ranks_(ranks),
        devices_(devices),
        counts_(counts),
        options_(options),
        report_(report),
        barrier_(static_cast<int>(ranks.size()), options.spin, options.timeout_seconds),
        lanes_(ranks.size()) {}

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      threads.emplace_back([this, rank] {
        try {
          run_rank(rank);
        } catch (const std::exception& error) {
          lanes_[rank].failure = std::current_exception();
          barrier_.abort(error.what());
          ranks_[rank]->abort(error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Lane& lane : lanes_) {
      if (lane.failure) std::rethrow_exception(lane.failure);
    }
  }

 private:
  /// A rank's. They outlive every rank's work.
  struct Lane {
    std::optional<SampleElements> to, from;  ///< from: only out of place
    std::unique_ptr<Stream> stream;          ///< destroyed first
    double seconds = 0;                      ///< of this repetition
    std::uint64_t wrong = 0;                 ///< likewise
    std::exception_ptr failure;
  };

  void run_rank(std::size_t rank) {
    Device& device = *devices_[rank];
    device.enter_thread();
    allocate(device, lanes_[rank]);
    for (std::size_t index = 0; index < counts_.size(); ++index) {
      Repetitions repetitions;  // rank 0's
      for (int repetition = 0; repetition == 0 || more_; ++repetition) {
        repeat(rank, counts_[index], repetition);
        if (rank == 0) take_stock(index, repetitions);
        barrier_.arrive_and_wait();
      }
    }
  }

  void allocate(Device& device, Lane& lane) const {
    std::size_t elements = 0, longest = 0;
    for (const std::size_t count : counts_) {
      elements = std::max(elements, SampleElements::room(operations_in_a_row(device, count * sizeof(float)), count));
      longest = std::max(longest, count);
    }
    lane.to.emplace(device, elements, longest);
    if (!options_.in_place) lane.from.emplace(device, elements, longest);
    lane.stream = device.make_stream();
  }

  void repeat(std::size_t rank, std::size_t count, int repetition) {
    Lane& lane = lanes_[rank];
    Communicator& communicator = *ranks_[rank];
    const std::size_t rows = operations_in_a_row(*devices_[rank], count * sizeof(float));
    const SampleElements &to = *lane.to, &from = options_.in_place ? *lane.to : *lane.from;
    const auto round = [&](std::size_t row) { return repetition * static_cast<int>(rows) + static_cast<int>(row); };
    for (std::size_t row = 0; row < rows; ++row) {
      from.fill(*lane.stream, row, count, communicator.rank(), round(row));
    }
    barrier_.arrive_and_wait();
    const auto start = Clock::now();
    for (std::size_t row = 0; row < rows; ++row) {
      communicator.all_reduce(*lane.stream, from.row(row, count), to.row(row, count));
    }
    communicator.synchronize(*lane.stream);
    lane.seconds = std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(rows);
    lane.wrong = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      lane.wrong += to.count_wrong(*lane.stream, row, count, communicator.size(), round(row));
    }
    barrier_.arrive_and_wait();
  }

  /// On rank 0, while the others wait.
  void take_stock(std::size_t index, Repetitions& repetitions) {
    double slowest = 0;
    for (const Lane& lane : lanes_) {
      slowest = std::max(slowest, lane.seconds);
      total_wrong_ += lane.wrong;
    }
    repetitions.add(slowest);
    more_ = !repetitions.enough();
    if (more_) return;
    report_(index, {repetitions.median(), total_wrong_});
    total_wrong_ = 0;
  }

  const std::span<Communicator* const> ranks_;
  const std::span<Device* const> devices_;
  const std::span<const std::size_t> counts_;
  const AllReduceTimerOptions options_;
  const std::function<void(std::size_t, const AllReduceTiming&)>& report_;
  Barrier barrier_;
  std::vector<Lane> lanes_;  ///< by rank
  std::uint64_t total_wrong_ = 0;
  bool more_ = true;  ///< written by rank 0 between two meetings
};

}  // namespace

void time_all_reduce(std::span<Communicator* const> ranks, std::span<Device* const> devices,
                     std::span<const std::size_t> counts, const AllReduceTimerOptions& options,
                     const std::function<void(std::size_t index, const AllReduceTiming& timing)>& report) {
  Timer(ranks, devices, counts, options, report).run();
}

}  // namespace mirrortrain
