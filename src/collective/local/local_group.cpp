#include "collective/local/local_group.h"

#include <fmt/format.h>

#include "base/barrier.h"
#include "base/error.h"
#include "collective/local/algorithms.h"
#include "collective/local/sum.h"

namespace mirrortrain {
namespace {

enum class Operation { kAllReduce, kReduceScatter, kAllGather, kBroadcast };

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, 4> kNames = {"all_reduce", "reduce_scatter", "all_gather", "broadcast"};
  return kNames[static_cast<std::size_t>(operation)];
}

/// What a rank came to do. On a cache line of its own, because its rank alone writes it.
struct alignas(64) Call {
  Operation operation;
  Elements elements;
  int root;

  bool fits(const Call& other) const {
    return operation == other.operation && elements.count == other.elements.count &&
           elements.dtype == other.elements.dtype && root == other.root;
  }
  std::string text() const {
    return fmt::format("{} of {} {} elements", name_of(operation), elements.count, name_of(elements.dtype));
  }
};

}  // namespace

struct LocalGroup::Shared {
  Shared(int size, const LocalGroupOptions& options)
      : algorithm(options.algorithm),
        calls(static_cast<std::size_t>(size)),
        barrier(size, options.spin, options.timeout_seconds) {}

  const LocalAlgorithm algorithm;
  std::vector<Call> calls;  ///< by rank
  Barrier barrier;
};

class LocalGroup::Rank : public Communicator {
 public:
  Rank(int rank, int size, Shared& shared)
      : rank_(rank), shared_(shared), data_(static_cast<std::size_t>(size)), scratch_(data_.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  bool capturable() const override { return false; }

  void all_reduce(Elements elements) override {
    meet({Operation::kAllReduce, elements, 0}, [&](const local::Meeting& meeting) {
      switch (shared_.algorithm) {
        case LocalAlgorithm::kOnePass: return local::one_pass_all_reduce(meeting);
        case LocalAlgorithm::kRing:
          local::ring_reduce_scatter(meeting);
          meeting.barrier.arrive_and_wait();
          return local::ring_all_gather(meeting);
        case LocalAlgorithm::kHierarchicalCopy: return local::hierarchical_copy_all_reduce(meeting);
        case LocalAlgorithm::kReductionToOneDevice: return local::reduction_to_one_device_all_reduce(meeting);
      }
    });
  }

  void reduce_scatter(Elements elements) override {
    const bool ring = shared_.algorithm == LocalAlgorithm::kRing;
    meet({Operation::kReduceScatter, elements, 0}, ring ? local::ring_reduce_scatter : local::one_pass_reduce_scatter);
  }

  void all_gather(Elements elements) override {
    const bool ring = shared_.algorithm == LocalAlgorithm::kRing;
    meet({Operation::kAllGather, elements, 0}, ring ? local::ring_all_gather : local::one_pass_all_gather);
  }

  void broadcast(Elements elements, int root) override {
    meet({Operation::kBroadcast, elements, root}, [&](const local::Meeting& meeting) {
      if (rank_ != root) local::copy(meeting.dtype, meeting.mine(), meeting.at(root), meeting.whole());
    });
  }

  void barrier() override { shared_.barrier.arrive_and_wait(); }
  void abort(const std::string& reason) override { shared_.barrier.abort(reason); }

 private:
  template <class Body>
  void meet(const Call& call, const Body& body) {
    shared_.calls[static_cast<std::size_t>(rank_)] = call;
    shared_.barrier.arrive_and_wait();
    for (std::size_t other = 0; other < data_.size(); ++other) {
      if (!call.fits(shared_.calls[other])) disagree(call, other);
      data_[other] = shared_.calls[other].elements.data;
    }
    try {
      body(local::Meeting{rank_, size(), call.elements.dtype, call.elements.count, data_, scratch_, shared_.barrier});
    } catch (const Error& error) {
      shared_.barrier.abort(error.what());  // the others must not wait for this rank
      throw;
    }
    shared_.barrier.arrive_and_wait();
  }

  [[noreturn]] void disagree(const Call& call, std::size_t other) {
    shared_.barrier.abort(
        fmt::format("rank {} does {}, but rank {} does {}", rank_, call.text(), other, shared_.calls[other].text()));
    shared_.barrier.arrive_and_wait();  // throws the first reason
    throw Error("ranks disagree");
  }

  const int rank_;
  Shared& shared_;
  std::vector<std::byte*> data_, scratch_;
};

LocalGroup::LocalGroup(int size, const LocalGroupOptions& options) : shared_(std::make_unique<Shared>(size, options)) {
  for (int rank = 0; rank < size; ++rank) communicators_.push_back(std::make_unique<Rank>(rank, size, *shared_));
}

LocalGroup::~LocalGroup() = default;

}  // namespace mirrortrain
