#include "collective/peer/peer_group.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "collective/training_lane.h"
#include "collective/uneven.h"
#include "error_text.h"

using namespace mirrortrain;
using testing::Rows;
using testing::run_lanes;
using testing::SimulatedGpus;

namespace {

constexpr AggregationMethod kMethods[] = {AggregationMethod::kAddN, AggregationMethod::kTree,
                                          AggregationMethod::kAccumulateN};

struct Peers {
  Peers(const StagedReduction& reduction, const PeerGroupOptions& options)
      : gpus(reduction.ranks()),
        group(reduction, gpus.devices(), testing::summing_kernels(), options),
        ranks(group.ranks()) {}
  explicit Peers(int size, double timeout_seconds = 20)
      : Peers(StagedReduction(CrossDeviceOps::kRing, size), {.timeout_seconds = timeout_seconds}) {}

  void run(const std::function<void(Communicator&, Stream&)>& body) {
    run_lanes(ranks, gpus, [&](Communicator& communicator, Device&, Stream& stream) { body(communicator, stream); });
  }

  SimulatedGpus gpus;
  PeerGroup group;
  std::vector<Communicator*> ranks;
};

std::size_t index(const Communicator& communicator) { return static_cast<std::size_t>(communicator.rank()); }

}  // namespace

TEST_CASE("ranks that copy from each other give the same bits as ranks that share a memory") {
  constexpr std::size_t kCount = 1003;
  for (const CrossDeviceOps algorithm : staged_operations()) {
    const std::string_view name = config::name_of(algorithm);
    for (const AggregationMethod method : kMethods) {
      if (method != AggregationMethod::kAddN && !uses_aggregation_method(algorithm)) continue;
      for (const int ranks : {1, 2, 3, 5, 7}) {
        CAPTURE(name);
        CAPTURE(ranks);
        CAPTURE(static_cast<int>(method));
        const int root = algorithm == CrossDeviceOps::kReductionToOneDevice ? ranks / 2 : 0;
        const StagedReduction reduction(algorithm, ranks, method, root);
        // Blocks of a few lines, so that a shard has several.
        Peers peers(reduction, {.timeout_seconds = 20, .block_bytes = 4000});
        Rows rows = testing::uneven(ranks, kCount);
        const std::vector<float> expected = testing::summed(reduction, rows);
        peers.run([&](Communicator& communicator, Stream& stream) {
          communicator.all_reduce(stream, std::span(rows[index(communicator)]));
          communicator.synchronize(stream);
        });
        for (const auto& row : rows) CHECK(std::memcmp(row.data(), expected.data(), kCount * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("steps whose gradients are summed by copies on a stream of their own give every rank the right weights") {
  for (const CrossDeviceOps algorithm : staged_operations()) {
    const std::string_view name = config::name_of(algorithm);
    for (const int ranks : {1, 2, 4, 5}) {
      CAPTURE(name);
      CAPTURE(ranks);
      Peers peers(StagedReduction(algorithm, ranks), {.timeout_seconds = 20});
      testing::check_training(peers.ranks, peers.gpus);
    }
  }
}

TEST_CASE("ranks that copy from each other gather every rank's part") {
  Peers peers(3);
  Rows rows(3, std::vector<float>(3 * 16, -1));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < 16; ++i) rows[rank][rank * 16 + i] = static_cast<float>(rank * 100 + i);
  }
  peers.run([&](Communicator& communicator, Stream& stream) {
    communicator.all_gather(stream, std::span(rows[index(communicator)]));
    communicator.synchronize(stream);
  });
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) CHECK(row[i] == static_cast<float>(i / 16 * 100 + i % 16));
  }
}

TEST_CASE("what ranks cannot sum by copies, and what they disagree about, is an error for every rank") {
  Peers unsummable(2);
  std::vector<std::vector<double>> doubles(2, std::vector<double>(100));
  unsummable.run([&](Communicator& communicator, Stream& stream) {
    const std::string message =
        error_text([&] { communicator.all_reduce(stream, std::span(doubles[index(communicator)])); });
    CHECK(message.starts_with("ranks on GPUs sum float32 elements by copies, not float64; use nccl; rank "));
  });
  Peers disagreeing(2);
  Rows rows = {std::vector<float>(100), std::vector<float>(101)};
  disagreeing.run([&](Communicator& communicator, Stream& stream) {
    const std::string message =
        error_text([&] { communicator.all_reduce(stream, std::span(rows[index(communicator)])); });
    CHECK(contains(message, "all_reduce of 100 float32 elements"));
    CHECK(error_text([&] { communicator.check(); }) == message);
  });
}

TEST_CASE("a rank that does not come to enqueue is an error after the timeout, and leaves no stream waiting") {
  Peers peers(2, 0.05);
  std::vector<float> elements(100);
  peers.run([&](Communicator& communicator, Stream& stream) {
    if (communicator.rank() == 1) return;
    const Elements named{std::span(elements), "bucket 2 of 3"};
    const std::string message = error_text([&] { communicator.all_reduce(stream, named); });
    CHECK(contains(message, "waited 0.05 seconds"));
    CHECK(contains(message, "rank 0 (cuda:0) was in all_reduce of 100 float32 elements (bucket 2 of 3)"));
    CHECK(error_text([&] { communicator.check(); }) == message);
    stream.synchronize();
  });
}
