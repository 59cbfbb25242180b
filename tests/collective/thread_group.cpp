#include "collective/thread_group.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "collective/call_barrier.h"
#include "collective/host_communicator.h"
#include "collective/stage_work.h"

namespace mirrortrain::testing {

struct ThreadGroup::Shared {
  Shared(int size, double timeout_seconds) : barrier(static_cast<std::size_t>(size), false, timeout_seconds) {}
  CallBarrier barrier;
};

class ThreadGroup::Rank : public HostCommunicator {
 public:
  Rank(int rank, int size, Shared& shared)
      : HostCommunicator(rank, size), shared_(shared), data_(static_cast<std::size_t>(size)) {}

  void check() override {
    shared_.barrier.throw_if_failed();
    HostCommunicator::check();
  }

 protected:
  /// Learns where everybody's elements are, then does this rank's part and meets the others after it.
  void perform(const CollectiveCall& call) override {
    try {
      take_part(call);
    } catch (const std::exception& error) {  // the others must not wait for this rank
      shared_.barrier.fail(fmt::format("{}; rank {} was in {}", error.what(), rank(), call.text()));
      throw;
    }
  }
  void interrupt(const std::string& reason) override { shared_.barrier.fail(reason); }

 private:
  void take_part(const CollectiveCall& call) {
    shared_.barrier.announce(rank(), call);
    shared_.barrier.arrive_and_wait();
    shared_.barrier.read_elements(rank(), data_);
    const StageWork& work = shared_memory_work();
    const auto& [dtype, own, count, what] = call.elements;
    if (call.operation == CollectiveCall::Operation::kAllReduce) {
      work.combine(AggregationMethod::kAddN, dtype, data_, data_, shard_of(count, rank(), size()));
    } else if (call.operation == CollectiveCall::Operation::kAllToAll) {
      const std::size_t bytes = call.elements.bytes() / data_.size();
      for (std::size_t other = 0; other < data_.size(); ++other) {
        std::memcpy(call.received + other * bytes, data_[other] + static_cast<std::size_t>(rank()) * bytes, bytes);
      }
    } else if (call.operation == CollectiveCall::Operation::kTransfer) {
      if (rank() != call.from) work.copy(dtype, own, data_[static_cast<std::size_t>(call.from)], {0, count});
    } else {
      const std::size_t part = count / data_.size();
      for (std::size_t other = 0; other < data_.size(); ++other) {
        if (other != static_cast<std::size_t>(rank())) {
          work.copy(dtype, own, data_[other], {other * part, (other + 1) * part});
        }
      }
    }
    shared_.barrier.arrive_and_wait();
  }

  Shared& shared_;
  std::vector<std::byte*> data_;  ///< by rank
};

ThreadGroup::ThreadGroup(int size, double timeout_seconds) : shared_(std::make_unique<Shared>(size, timeout_seconds)) {
  for (int rank = 0; rank < size; ++rank) communicators_.push_back(std::make_unique<Rank>(rank, size, *shared_));
}

ThreadGroup::~ThreadGroup() = default;

std::vector<Communicator*> ThreadGroup::ranks() const {
  std::vector<Communicator*> ranks;
  for (const auto& communicator : communicators_) ranks.push_back(communicator.get());
  return ranks;
}

}  // namespace mirrortrain::testing
