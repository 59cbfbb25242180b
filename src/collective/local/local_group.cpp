#include "collective/local/local_group.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/barrier.h"
#include "base/error.h"
#include "collective/local/algorithms.h"

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
      : reduction(options.algorithm, size, options.method),
        ring(options.algorithm == LocalAlgorithm::kRing && size > 1),
        calls(static_cast<std::size_t>(size)),
        barrier(size, options.spin, options.timeout_seconds) {}

  const LocalReduction reduction;
  const bool ring;
  std::vector<Call> calls;  ///< by rank
  Barrier barrier;
};

class LocalGroup::Rank : public Communicator {
 public:
  Rank(int rank, int size, Shared& shared) : rank_(rank), shared_(shared), data_(static_cast<std::size_t>(size)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  bool capturable() const override { return false; }

  void all_reduce(Elements elements) override {
    const LocalReduction& reduction = shared_.reduction;
    meet({Operation::kAllReduce, elements, 0}, reduction.stages(), [&](const local::Part& part, int stage) {
      reduction.run(stage, part.rank, part.dtype, part.count, part.data);
    });
  }

  void reduce_scatter(Elements elements) override {
    meet({Operation::kReduceScatter, elements, 0}, scatter_stages(), [&](const local::Part& part, int stage) {
      shared_.ring ? local::ring_reduce_scatter(part, stage) : local::one_pass_reduce_scatter(part);
    });
  }

  void all_gather(Elements elements) override {
    meet({Operation::kAllGather, elements, 0}, scatter_stages(), [&](const local::Part& part, int stage) {
      shared_.ring ? local::ring_all_gather(part, stage) : local::one_pass_all_gather(part);
    });
  }

  void broadcast(Elements elements, int root) override {
    meet({Operation::kBroadcast, elements, root}, 1,
         [&](const local::Part& part, int) { local::broadcast(part, root); });
  }

  void barrier() override { shared_.barrier.arrive_and_wait(); }
  void abort(const std::string& reason) override { shared_.barrier.abort(reason); }

 private:
  int scatter_stages() const { return shared_.ring ? local::ring_steps(size()) : 1; }

  /// Learns where everybody's elements are, then does this rank's part of each stage, `body(part, stage)`, and meets
  /// the others after it.
  template <class Body>
  void meet(const Call& call, int stages, const Body& body) {
    shared_.calls[static_cast<std::size_t>(rank_)] = call;
    shared_.barrier.arrive_and_wait();
    for (std::size_t other = 0; other < data_.size(); ++other) {
      if (!call.fits(shared_.calls[other])) disagree(call, other);
      data_[other] = shared_.calls[other].elements.data;
    }
    const local::Part part{rank_, size(), call.elements.dtype, call.elements.count, data_};
    for (int stage = 0; stage < stages; ++stage) {
      try {
        body(part, stage);
      } catch (const Error& error) {
        shared_.barrier.abort(error.what());  // the others must not wait for this rank
        throw;
      }
      shared_.barrier.arrive_and_wait();
    }
  }

  [[noreturn]] void disagree(const Call& call, std::size_t other) {
    shared_.barrier.abort(
        fmt::format("rank {} does {}, but rank {} does {}", rank_, call.text(), other, shared_.calls[other].text()));
    shared_.barrier.arrive_and_wait();  // throws the first reason
    throw Error("ranks disagree");
  }

  const int rank_;
  Shared& shared_;
  std::vector<std::byte*> data_;
};

LocalGroup::LocalGroup(int size, const LocalGroupOptions& options) : shared_(std::make_unique<Shared>(size, options)) {
  for (int rank = 0; rank < size; ++rank) communicators_.push_back(std::make_unique<Rank>(rank, size, *shared_));
}

LocalGroup::~LocalGroup() = default;

}  // namespace mirrortrain
