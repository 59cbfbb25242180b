#include "collective/local/local_group.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "collective/local/algorithms.h"
#include "collective/local/meeting.h"

namespace mirrortrain {

using local::Call;
using local::Operation;

struct LocalGroup::Shared {
  Shared(int size, const LocalGroupOptions& options)
      : reduction(options.algorithm, size, options.method),
        ring(options.algorithm == LocalAlgorithm::kRing && size > 1),
        meeting(static_cast<std::size_t>(size), options.spin, options.timeout_seconds) {}

  const LocalReduction reduction;
  const bool ring;
  local::Meeting meeting;
};

class LocalGroup::Rank : public Communicator {
 public:
  Rank(int rank, int size, Shared& shared) : rank_(rank), shared_(shared), data_(static_cast<std::size_t>(size)) {
    for (Slot& slot : slots_) slot.owner = this;
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  bool capturable() const override { return false; }

  void all_reduce(Stream& stream, Elements from, Elements to) override {
    check();
    if (from.data != to.data) stream.copy(to.data, from.data, to.bytes());
    enqueue(stream, {Operation::kAllReduce, to});
  }
  void reduce_scatter(Stream& stream, Elements elements) override {
    enqueue(stream, {Operation::kReduceScatter, elements});
  }
  void all_gather(Stream& stream, Elements elements) override { enqueue(stream, {Operation::kAllGather, elements}); }
  void broadcast(Stream& stream, Elements elements, int root) override {
    enqueue(stream, {Operation::kBroadcast, elements, root});
  }

  void check() override { shared_.meeting.throw_if_failed(); }
  void synchronize(Stream& stream) override {
    stream.synchronize();  // returns in any case, since the meeting knows the timeout
    check();
  }
  void abort(const std::string& reason) override { shared_.meeting.fail(reason); }

 private:
  /// An operation on its way through a stream.
  struct Slot {
    Rank* owner = nullptr;
    Call call;
    std::atomic<bool> taken = false;
  };

  void enqueue(Stream& stream, const Call& call) {
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

  /// On the stream's thread, where nobody could catch anything: the reason is kept, and told by the next call.
  void run(const Call& call) {
    try {
      take_part(call);
    } catch (const std::exception& error) {  // the others must not wait for this rank
      shared_.meeting.fail(fmt::format("{}; rank {} was in {}", error.what(), rank_, call.text()));
    }
  }

  int stages_of(Operation operation) const {
    if (operation == Operation::kAllReduce) return shared_.reduction.stages();
    return operation != Operation::kBroadcast && shared_.ring ? local::ring_steps(size()) : 1;
  }

  void run_stage(const local::Part& part, const Call& call, int stage) const {
    switch (call.operation) {
      case Operation::kAllReduce: return shared_.reduction.run(stage, part.rank, part.dtype, part.count, part.data);
      case Operation::kReduceScatter:
        return shared_.ring ? local::ring_reduce_scatter(part, stage) : local::one_pass_reduce_scatter(part);
      case Operation::kAllGather:
        return shared_.ring ? local::ring_all_gather(part, stage) : local::one_pass_all_gather(part);
      case Operation::kBroadcast: return local::broadcast(part, call.root);
    }
  }

  /// Learns where everybody's elements are, then does this rank's part of each stage and meets the others after it.
  void take_part(const Call& call) {
    shared_.meeting.tell(rank_, call);
    shared_.meeting.meet();
    shared_.meeting.learn(rank_, data_);
    const local::Part part{rank_, size(), call.elements.dtype, call.elements.count, data_, shared_memory_work()};
    for (int stage = 0; stage < stages_of(call.operation); ++stage) {
      run_stage(part, call, stage);
      shared_.meeting.meet();
    }
  }

  const int rank_;
  Shared& shared_;
  std::vector<std::byte*> data_;  ///< by rank
  std::array<Slot, 64> slots_;    ///< more than a host is ahead of its streams
  std::size_t next_ = 0;
};

LocalGroup::LocalGroup(int size, const LocalGroupOptions& options) : shared_(std::make_unique<Shared>(size, options)) {
  for (int rank = 0; rank < size; ++rank) communicators_.push_back(std::make_unique<Rank>(rank, size, *shared_));
}

LocalGroup::~LocalGroup() = default;

}  // namespace mirrortrain
