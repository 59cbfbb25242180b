#include "collective/peer/peer_group.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "collective/local/algorithms.h"
#include "collective/local/meeting.h"
#include "collective/peer/peer_work.h"

namespace mirrortrain {

using local::Call;
using local::Operation;

struct PeerGroup::Shared {
  Shared(const LocalReduction& local_reduction, std::span<Device* const> devices, const PeerGroupOptions& options)
      : reduction(local_reduction),
        reached(devices.size()),
        threads(devices.size(), options.spin, options.timeout_seconds) {
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      for (auto& event : reached[rank]) event = devices[rank]->make_event();
    }
  }

  const LocalReduction reduction;
  /// By rank: its stream's last two meetings. One would not do: a rank could record the next meeting while another is
  /// about to wait for this one.
  std::vector<std::array<std::unique_ptr<Event>, 2>> reached;
  local::Meeting threads;  ///< that drive the ranks
};

class PeerGroup::Rank : public Communicator {
 public:
  Rank(int rank, Device& device, SumOnStream sum, const PeerGroupOptions& options, Shared& shared)
      : rank_(rank),
        device_(device.id().text()),
        shared_(shared),
        work_(device, sum, shared.reached.size(), options.block_bytes),
        data_(shared.reached.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  bool capturable() const override { return false; }
  std::size_t bytes() const override { return work_.bytes(); }

  void all_reduce(Stream& stream, Elements from, Elements to) override {
    check();
    if (from.data != to.data) stream.copy(to.data, from.data, to.bytes());
    const LocalReduction& reduction = shared_.reduction;
    enqueue(stream, {Operation::kAllReduce, to}, reduction.stages(), [&](const local::Part& part, int stage) {
      reduction.run(stage, part.rank, part.dtype, part.count, part.data, part.work);
    });
  }
  void reduce_scatter(Stream& stream, Elements elements) override {
    enqueue(stream, {Operation::kReduceScatter, elements}, 1,
            [](const local::Part& part, int) { local::one_pass_reduce_scatter(part); });
  }
  void all_gather(Stream& stream, Elements elements) override {
    enqueue(stream, {Operation::kAllGather, elements}, 1,
            [](const local::Part& part, int) { local::one_pass_all_gather(part); });
  }
  void broadcast(Stream& stream, Elements elements, int root) override {
    enqueue(stream, {Operation::kBroadcast, elements, root}, 1,
            [&](const local::Part& part, int) { local::broadcast(part, root); });
  }

  void check() override { shared_.threads.throw_if_failed(); }
  void synchronize(Stream& stream) override {
    stream.synchronize();  // nothing of it waits for a rank that has not come
    check();
  }
  void abort(const std::string& reason) override { shared_.threads.fail(reason); }

 private:
  /// Learns where everybody's elements are, then enqueues this rank's part of each stage, `body(part, stage)`.
  template <class Body>
  void enqueue(Stream& stream, const Call& call, int stages, const Body& body) {
    try {
      shared_.threads.tell(rank_, call);
      meet(stream);
      shared_.threads.learn(rank_, data_);
      work_.start(stream, call.elements.data);
      const local::Part part{rank_, size(), call.elements.dtype, call.elements.count, data_, work_};
      for (int stage = 0; stage < stages; ++stage) {
        body(part, stage);
        meet(stream);
      }
    } catch (const std::exception& error) {  // the others must not wait for this rank
      shared_.threads.fail(fmt::format("{}; rank {} ({}) was in {}", error.what(), rank_, device_, call.text()));
      shared_.threads.throw_if_failed();  // the first reason
    }
  }

  /// What a rank enqueues afterwards starts when every rank's stream is here.
  void meet(Stream& stream) {
    stream.record(*shared_.reached[static_cast<std::size_t>(rank_)][meeting_]);
    shared_.threads.meet();
    for (std::size_t other = 0; other < data_.size(); ++other) {
      if (other != static_cast<std::size_t>(rank_)) stream.wait(*shared_.reached[other][meeting_]);
    }
    meeting_ = 1 - meeting_;
  }

  const int rank_;
  const std::string device_;
  Shared& shared_;
  PeerWork work_;
  std::vector<std::byte*> data_;  ///< by rank
  std::size_t meeting_ = 0;       ///< even or odd
};

PeerGroup::PeerGroup(const LocalReduction& reduction, std::span<Device* const> devices, SumOnStream sum,
                     const PeerGroupOptions& options)
    : shared_(std::make_unique<Shared>(reduction, devices, options)) {
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    communicators_.push_back(std::make_unique<Rank>(static_cast<int>(rank), *devices[rank], sum, options, *shared_));
  }
}

PeerGroup::~PeerGroup() = default;

}  // namespace mirrortrain
