// Communicators on streams that work late, as a GPU's do. Under a thread sanitizer a missing wait is a data race.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "collective/thread_group.h"
#include "collective/training_lane.h"
#include "error_text.h"

using namespace mirrortrain;
using testing::run_lanes;
using testing::SimulatedGpus;
using testing::ThreadGroup;

TEST_CASE("steps whose gradients are summed on a stream of their own give every rank the right weights") {
  for (int size = 1; size <= 4; ++size) {
    CAPTURE(size);
    const ThreadGroup group(size);
    testing::check_training(group.ranks(), SimulatedGpus(size));
  }
}

TEST_CASE("more operations than a host is usually ahead by stay in order") {
  const ThreadGroup group(2, 20);
  run_lanes(group.ranks(), SimulatedGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<std::int64_t> elements(20, 1);
    for (int i = 0; i < 40; ++i) {
      communicator.all_reduce(stream, std::span(elements));
      communicator.all_gather(stream, std::span(elements));
    }
    communicator.synchronize(stream);
    CHECK(elements == std::vector<std::int64_t>(20, std::int64_t{1} << 40));
  });
}

TEST_CASE("the next call reports that the ranks of streams disagree") {
  const ThreadGroup group(2, 20);
  run_lanes(group.ranks(), SimulatedGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<float> elements(static_cast<std::size_t>(100 + communicator.rank()));
    const auto call = [&] {
      communicator.all_reduce(stream, std::span(elements));
      communicator.synchronize(stream);
    };
    const std::string message = error_text(call);
    CHECK(contains(message, "all_reduce of 100 float32 elements"));
    CHECK(contains(message, "all_reduce of 101 float32 elements"));
    CHECK(error_text(call) == message);
    CHECK(error_text([&] { communicator.check(); }) == message);
  });
}

TEST_CASE("a rank whose stream does not come is an error for those that wait for it, after the timeout") {
  const ThreadGroup group(3, 0.05);
  run_lanes(group.ranks(), SimulatedGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<float> elements(100);
    if (communicator.rank() == 1) return;
    const std::string message = error_text([&] {
      communicator.all_reduce(stream, std::span(elements));
      communicator.synchronize(stream);
    });
    CHECK(contains(message, "waited 0.05 seconds"));
  });
}

TEST_CASE("abort ends what waits on a stream, with the reason") {
  const ThreadGroup group(2, 20);
  run_lanes(group.ranks(), SimulatedGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<float> elements(100);
    if (communicator.rank() == 1) return communicator.abort("disk full on rank 1");
    const std::string message = error_text([&] {
      communicator.all_reduce(stream, std::span(elements));
      communicator.synchronize(stream);
    });
    CHECK(message == "disk full on rank 1");
  });
}
