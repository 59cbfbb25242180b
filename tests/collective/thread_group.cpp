#include "collective/thread_group.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "collective/meeting.h"
#include "collective/stage_work.h"

namespace mirrortrain::testing {

struct ThreadGroup::Shared {
  Shared(int size, double timeout_seconds) : meeting(static_cast<std::size_t>(size), false, timeout_seconds) {}
  Meeting meeting;
};

class ThreadGroup::Rank : public Communicator {
 public:
  Rank(int rank, int size, Shared& shared) : rank_(rank), shared_(shared), data_(static_cast<std::size_t>(size)) {
    for (Slot& slot : slots_) slot.owner = this;
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }

  void all_reduce(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllReduce, elements});
  }
  void all_gather(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllGather, elements});
  }

  void check() override { shared_.meeting.throw_if_failed(); }
  void synchronize(Stream& stream) override {
    stream.synchronize();  // returns in any case, since the meeting knows the timeout
    check();
  }
  void abort(const std::string& reason) override { shared_.meeting.fail(reason); }

 private:
  /// An operation in flight on a stream.
  struct Slot {
    Rank* owner = nullptr;
    CollectiveCall call;
    std::atomic<bool> taken = false;
  };

  void enqueue(Stream& stream, const CollectiveCall& call) {
    check();
    Slot& slot = slots_[next_++ % slots_.size()];
    while (slot.taken.load(std::memory_order_acquire)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    slot.taken.store(true, std::memory_order_relaxed);
    slot.call = call;
    stream.call(
        [](void* argument) {
          Slot& enqueued = *static_cast<Slot*>(argument);
          enqueued.owner->run(enqueued.call);
          enqueued.taken.store(false, std::memory_order_release);
        },
        &slot);
    check();  // a CPU's stream has done it by now
  }

  /// On the stream's thread, where nobody could catch anything: the reason is kept, and thrown by the next call.
  void run(const CollectiveCall& call) {
    try {
      take_part(call);
    } catch (const std::exception& error) {  // the others must not wait for this rank
      shared_.meeting.fail(fmt::format("{}; rank {} was in {}", error.what(), rank_, call.text()));
    }
  }

  /// Learns where everybody's elements are, then does this rank's part and meets the others after it.
  void take_part(const CollectiveCall& call) {
    shared_.meeting.tell(rank_, call);
    shared_.meeting.meet();
    shared_.meeting.learn(rank_, data_);
    const StageWork& work = shared_memory_work();
    const auto& [dtype, own, count, what] = call.elements;
    if (call.operation == CollectiveCall::Operation::kAllReduce) {
      work.combine(AggregationMethod::kAddN, dtype, data_, data_, shard_of(count, rank_, size()));
    } else {
      const std::size_t part = count / data_.size();
      for (std::size_t other = 0; other < data_.size(); ++other) {
        if (other != static_cast<std::size_t>(rank_)) {
          work.copy(dtype, own, data_[other], {other * part, (other + 1) * part});
        }
      }
    }
    shared_.meeting.meet();
  }

  const int rank_;
  Shared& shared_;
  std::vector<std::byte*> data_;  ///< by rank
  std::array<Slot, 64> slots_;    ///< more than a host is ahead of its streams
  std::size_t next_ = 0;
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
