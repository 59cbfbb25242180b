#include "collective/peer/peer_group.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "collective/call_barrier.h"
#include "collective/peer/peer_work.h"

namespace mirrortrain {

struct PeerGroup::Shared {
  Shared(const StagedReduction& staged, std::span<Device* const> devices, const PeerGroupOptions& options)
      : reduction(staged), reached(devices.size()), threads(devices.size(), options.spin, options.timeout_seconds) {
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
      for (auto& event : reached[rank]) event = devices[rank]->make_event();
    }
  }

  const StagedReduction reduction;
  /// By rank: events of its stream's last two barriers. One would not suffice: a rank could record the next barrier
  /// while another is about to wait for this one.
  std::vector<std::array<std::unique_ptr<Event>, 2>> reached;
  CallBarrier threads;  ///< that drive the ranks
};

class PeerGroup::Rank : public Communicator {
 public:
  Rank(int rank, Device& device, const StepKernels& kernels, const PeerGroupOptions& options, Shared& shared)
      : rank_(rank),
        device_(device.id().text()),
        shared_(shared),
        work_(device, kernels, shared.reached.size(), options.block_bytes),
        data_(shared.reached.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  std::size_t bytes() const override { return work_.bytes(); }

  void all_reduce(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllReduce, elements}, shared_.reduction.stages(),
            [&](int stage) { shared_.reduction.run(stage, rank_, elements.dtype, elements.count, data_, work_); });
  }
  void all_gather(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllGather, elements}, 1, [&](int) {
      const std::size_t part = elements.count / data_.size();
      for (std::size_t other = 0; other < data_.size(); ++other) {
        if (other == static_cast<std::size_t>(rank_)) continue;
        work_.copy(elements.dtype, elements.data, data_[other], {other * part, (other + 1) * part});
      }
    });
  }

  void all_to_all(Stream& stream, Elements elements, std::byte* received) override {
    enqueue(stream, {CollectiveCall::Operation::kAllToAll, elements, received}, 1, [&](int) {
      const std::size_t bytes = elements.bytes() / data_.size();
      for (std::size_t other = 0; other < data_.size(); ++other) {
        stream.copy(received + other * bytes, data_[other] + static_cast<std::size_t>(rank_) * bytes, bytes);
      }
    });
  }

  void check() override { shared_.threads.throw_if_failed(); }
  void synchronize(Stream& stream) override {
    stream.synchronize();  // no work in it waits for a rank that is missing
    check();
  }
  void abort(const std::string& reason) override { shared_.threads.fail(reason); }

 private:
  /// Gets the pointers to all ranks' elements, then enqueues this rank's part of each stage, `body(stage)`.
  template <class Body>
  void enqueue(Stream& stream, const CollectiveCall& call, int stages, const Body& body) {
    try {
      shared_.threads.announce(rank_, call);
      wait_for_others(stream);
      shared_.threads.read_elements(rank_, data_);
      work_.start(stream, call.elements.data);
      for (int stage = 0; stage < stages; ++stage) {
        body(stage);
        wait_for_others(stream);
      }
    } catch (const std::exception& error) {  // the others must not wait for this rank
      shared_.threads.fail(fmt::format("{}; rank {} ({}) was in {}", error.what(), rank_, device_, call.text()));
      shared_.threads.throw_if_failed();  // the first reason
    }
  }

  /// A barrier of the streams: later work of a rank starts when every rank's stream has reached it.
  void wait_for_others(Stream& stream) {
    stream.record(*shared_.reached[static_cast<std::size_t>(rank_)][parity_]);
    shared_.threads.arrive_and_wait();
    for (std::size_t other = 0; other < data_.size(); ++other) {
      if (other != static_cast<std::size_t>(rank_)) stream.wait(*shared_.reached[other][parity_]);
    }
    parity_ = 1 - parity_;
  }

  const int rank_;
  const std::string device_;
  Shared& shared_;
  PeerWork work_;
  std::vector<std::byte*> data_;  ///< by rank
  std::size_t parity_ = 0;        ///< even or odd
};

PeerGroup::PeerGroup(const StagedReduction& reduction, std::span<Device* const> devices, const StepKernels& kernels,
                     const PeerGroupOptions& options)
    : shared_(std::make_unique<Shared>(reduction, devices, options)) {
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    communicators_.push_back(
        std::make_unique<Rank>(static_cast<int>(rank), *devices[rank], kernels, options, *shared_));
  }
}

PeerGroup::~PeerGroup() = default;

std::vector<Communicator*> PeerGroup::ranks() const {
  std::vector<Communicator*> ranks;
  for (const auto& communicator : communicators_) ranks.push_back(communicator.get());
  return ranks;
}

}  // namespace mirrortrain
