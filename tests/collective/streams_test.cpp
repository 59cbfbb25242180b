// Communicators on streams that work late, as a GPU's do. Under a thread sanitizer a missing wait is a data race.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "collective/all_reduce_timer.h"
#include "collective/local/local_group.h"
#include "collective/training_lane.h"
#include "error_text.h"

using namespace mirrortrain;
using testing::PlayingGpus;
using testing::run_lanes;

TEST_CASE("steps whose gradients are summed on a stream of their own give every rank the right weights") {
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) {
    for (int size = 1; size <= 4; ++size) {
      CAPTURE(name);
      CAPTURE(size);
      const LocalGroup group(size, {.algorithm = algorithm, .timeout_seconds = 20});
      testing::check_training(group.ranks(), PlayingGpus(size));
    }
  }
}

TEST_CASE("an all_reduce out of place leaves what it sums") {
  const LocalGroup group(3, {.timeout_seconds = 20});
  run_lanes(group.ranks(), PlayingGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<float> from(1000, static_cast<float>(communicator.rank() + 1)), to(1000, -1);
    const std::vector<float> before = from;
    communicator.all_reduce(stream, std::span(from), std::span(to));
    communicator.synchronize(stream);
    CHECK(from == before);
    CHECK(to == std::vector<float>(1000, 6));
  });
}

TEST_CASE("more operations than a host is usually ahead by stay in order") {
  const LocalGroup group(2, {.timeout_seconds = 20});
  run_lanes(group.ranks(), PlayingGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<std::int64_t> elements(20, 1);
    for (int i = 0; i < 40; ++i) {
      communicator.all_reduce(stream, std::span(elements));
      communicator.broadcast(stream, std::span(elements), i % 2);
    }
    communicator.synchronize(stream);
    CHECK(elements == std::vector<std::int64_t>(20, std::int64_t{1} << 40));
  });
}

TEST_CASE("ranks whose streams disagree are told so by the next call") {
  const LocalGroup group(2, {.timeout_seconds = 20});
  run_lanes(group.ranks(), PlayingGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
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
  const LocalGroup group(3, {.timeout_seconds = 0.05});
  run_lanes(group.ranks(), PlayingGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
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
  const LocalGroup group(2, {.timeout_seconds = 20});
  run_lanes(group.ranks(), PlayingGpus(group.size()), [](Communicator& communicator, Device&, Stream& stream) {
    std::vector<float> elements(100);
    if (communicator.rank() == 1) return communicator.abort("disk full on rank 1");
    const std::string message = error_text([&] {
      communicator.all_reduce(stream, std::span(elements));
      communicator.synchronize(stream);
    });
    CHECK(message == "disk full on rank 1");
  });
}

TEST_CASE("on a GPU's streams several operations in a row are timed, in place and out of place, and each is checked") {
  for (const bool in_place : {true, false}) {
    const LocalGroup group(2, {.timeout_seconds = 20});
    const PlayingGpus gpus(2);
    const std::size_t counts[] = {5, 0, 300};
    std::vector<AllReduceTiming> timings(std::size(counts));
    time_all_reduce(group.ranks(), gpus.devices(), counts, {.in_place = in_place},
                    [&](std::size_t index, const AllReduceTiming& timing) { timings[index] = timing; });
    for (const AllReduceTiming& timing : timings) {
      CHECK(timing.seconds > 0);
      CHECK(timing.wrong == 0);
    }
  }
}

namespace {

/// Says that it has summed, and has not.
class Idle : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  bool capturable() const override { return false; }
  void all_reduce(Stream&, Elements, Elements) override {}
  void reduce_scatter(Stream&, Elements) override {}
  void all_gather(Stream&, Elements) override {}
  void broadcast(Stream&, Elements, int) override {}
  void check() override {}
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}
};

}  // namespace

TEST_CASE("elements that are not the sum are counted") {
  Idle idle;
  Communicator* const ranks[] = {&idle};
  const PlayingGpus gpu(1);
  const std::size_t counts[] = {1000};
  std::uint64_t wrong = 0;
  time_all_reduce(ranks, gpu.devices(), counts, {},
                  [&](std::size_t, const AllReduceTiming& timing) { wrong = timing.wrong; });
  CHECK(wrong > 5 * 20 * 900);  // nearly every element of every operation: only a term of 0 goes unnoticed
}
