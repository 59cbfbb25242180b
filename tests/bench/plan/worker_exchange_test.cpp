#include "bench/plan/worker_exchange.h"

#include <doctest/doctest.h>

#include "bench/plan/exchange_recorder.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain::plan {
namespace {

/// A message of n bytes takes 10 + n / 100 seconds; adding n bytes takes n / 1000.
constexpr Network kNetwork{10, 100};
constexpr double kAdd = 1e-3;

double all_reduce(int workers, Carrier carrier, double bytes, int per_worker = 1) {
  return all_reduce_seconds({workers, per_worker, carrier}, bytes, kNetwork, kAdd);
}

TEST_CASE("an all-reduce takes what the formula of its algorithm says") {
  // 3 parts of 400,000 / 4 bytes each way, after the word that their receives are posted, and 3 / 4 of them added.
  CHECK(all_reduce(4, Carrier::kGloo, 4e5) == doctest::Approx(3 * 10 + 6 * 1000 + 300));
  // Of many ranks around a ring: 2 x 39 messages, each after such a word.
  CHECK(all_reduce(40, Carrier::kGloo, 4e5) == doctest::Approx(78 * (2 * 10 + 100) + 390));
  // Two ranks send each other all.
  CHECK(all_reduce(2, Carrier::kGloo, 4e5) == doctest::Approx(2 * 10 + 4000 + 400));
  // Few bytes: one message of all of them to each of the others, all at the same time, and 3 of them added.
  CHECK(all_reduce(4, Carrier::kGloo, 400) == doctest::Approx(10 + 3 * 4 + 3 * 0.4));
  // Of many ranks by way of others, in 6 messages, each of twice as many of them.
  CHECK(all_reduce(33, Carrier::kGloo, 400) == doctest::Approx(6 * 10 + 32 * 4 + 32 * 0.4));
  // Few bytes: two trees of depth 3; many: a ring over all 16 GPUs, 7 machines away.
  CHECK(all_reduce(8, Carrier::kNccl, 400) == doctest::Approx(2 * 3 * 10 + 8));
  CHECK(all_reduce(8, Carrier::kNccl, 1e6, 2) == doctest::Approx(2 * 7 * 10 + 2e4 * 15 / 16));
}

TEST_CASE("an all-gather takes a message for every other rank") {
  CHECK(all_gather_seconds({5, 1, Carrier::kNccl}, 200, kNetwork) == doctest::Approx(4 * 12));
  CHECK(all_gather_seconds({5}, 200, kNetwork) == doctest::Approx(10 + 4 * 2));
  CHECK(all_gather_seconds({5}, 1e6, kNetwork) == doctest::Approx(20 + 4 * 1e4));
  CHECK(all_gather_seconds({64}, 200, kNetwork) == doctest::Approx(6 * 10 + 63 * 2));
  CHECK(all_gather_seconds({64}, 1e6, kNetwork) == doctest::Approx(7 * 10 + 63 * 1e4));
  const Exchange exchange{Exchange::Kind::kAllGather, 200, "", 1};
  CHECK(exchange_seconds(exchange, {5}, kNetwork, kAdd) == doctest::Approx(10 + 4 * 2));
}

TEST_CASE("one worker exchanges nothing, and more bytes or more workers never take less time") {
  for (const Carrier carrier : {Carrier::kGloo, Carrier::kNccl}) {
    CAPTURE(static_cast<int>(carrier));
    CHECK(all_reduce(1, carrier, 1e9) == 0);
    double fewer = 0;
    for (int workers = 2; workers <= 1024; workers *= 2) {
      CHECK(all_reduce(workers, carrier, 1e6) > fewer);
      CHECK(all_reduce(workers, carrier, 2e6) > all_reduce(workers, carrier, 1e6));
      fewer = all_reduce(workers, carrier, 1e6);
    }
  }
  CHECK(all_gather_seconds({1}, 1e9, kNetwork) == 0);
}

TEST_CASE("over a link without latency a ring brings at most twice the bytes, however many workers there are") {
  const double seconds = all_reduce_seconds({1024, 1, Carrier::kGloo}, 1e6, {0, 100}, 0);
  CHECK(seconds < 2e4);
  CHECK(seconds > 1.99e4);
}

TEST_CASE("buckets without overlap come after computing") {
  CHECK(StepSchedule{9, {}, 0, false}.step_seconds() == 9);
  CHECK(StepSchedule{9, {1, 2, 3}, 4, false}.step_seconds() == 19);
}

TEST_CASE("with overlap a bucket travels once it is full and the one before it has arrived") {
  // Backward takes 6 of 9 seconds, so that three buckets are full at 5, 7 and 9.
  CHECK(StepSchedule{9, {1, 1, 1}, 0, true}.step_seconds() == doctest::Approx(10));
  CHECK(StepSchedule{9, {1, 1, 1}, 4, true}.step_seconds() == doctest::Approx(14));
  CHECK(StepSchedule{9, {4, 4, 1}, 0, true}.step_seconds() == doctest::Approx(14));  // 5 + 4 + 4 + 1
  CHECK(StepSchedule{9, {1, 3, 1}, 0, true}.step_seconds() == doctest::Approx(11));  // 7 + 3 + 1
  CHECK(StepSchedule{9, {2}, 0, true}.step_seconds() == doctest::Approx(11));        // one bucket hides nothing
  CHECK(StepSchedule{9, {}, 0, true}.step_seconds() == 9);
}

TEST_CASE("a recorder notes what a rank exchanges, and changes nothing") {
  ExchangeRecorder recorder(2, 4, Along::kData);
  CHECK(recorder.rank() == 2);
  const auto stream = make_cpu_device(0, 1, {})->make_stream();
  std::vector<float> elements(8, 2.0f);
  for (int step = 0; step < 2; ++step) {
    recorder.all_reduce(*stream, {std::span(elements), "bucket 1 of 1"});
    recorder.all_gather(*stream, {std::span(elements), "squares"});
  }
  recorder.all_reduce(*stream, {std::span(elements).first(1), "rare"});
  CHECK(elements == std::vector<float>(8, 2.0f));
  const std::vector<Exchange> found = recorder.exchanges(2);
  REQUIRE(found.size() == 3);
  CHECK(found[0].what == "bucket 1 of 1");
  CHECK(found[0].bytes == 32);
  CHECK(found[0].per_step == 1);
  CHECK(found[1].kind == Exchange::Kind::kAllGather);
  CHECK(found[1].bytes == 8);  // of each rank
  CHECK(found[2].per_step == 0.5);
  CHECK(found[2].along == Along::kData);
  recorder.clear();
  CHECK(recorder.exchanges(1).empty());
}

TEST_CASE("parts that are sent to those who add them are a sum if its parts are gathered under the same name") {
  ExchangeRecorder recorder(0, 4, Along::kData);
  const auto stream = make_cpu_device(0, 1, {})->make_stream();
  std::vector<float> elements(8, 2.0f), received(8);
  for (int step = 0; step < 2; ++step) {
    for (const char* const name : {"compressed", "scattered"}) {
      recorder.all_to_all(*stream, {std::span(elements), name}, reinterpret_cast<std::byte*>(received.data()));
    }
    recorder.all_gather(*stream, {std::span(elements), "compressed"});
    recorder.all_gather(*stream, {std::span(elements), "weights"});
  }
  const std::vector<Exchange> found = recorder.exchanges(2);
  REQUIRE(found.size() == 3);
  CHECK(found[0].kind == Exchange::Kind::kAllReduce);
  CHECK(found[1].kind == Exchange::Kind::kScatter);
  CHECK(found[2].kind == Exchange::Kind::kAllGather);
  CHECK(found[2].what == "weights");
}

TEST_CASE("a scatter is the first half of a large sum, and a gather of the parts the second") {
  const Network network{1e-4, 1e9};
  const Ranks ranks{8};
  const double bytes = 8e6, gamma = 1e-10;
  CHECK(scatter_seconds(ranks, bytes, network, gamma) + all_gather_seconds(ranks, bytes / 8, network) ==
        doctest::Approx(all_reduce_seconds(ranks, bytes, network, gamma) + 1e-4));
  CHECK(scatter_seconds(ranks, 800, network, 0) == doctest::Approx(1e-4 + 700e-9));
  CHECK(scatter_seconds({4, 2, Carrier::kNccl}, 8e6, network, gamma) == doctest::Approx(1e-4 + 7e-3));
  CHECK(scatter_seconds({1}, bytes, network, gamma) == 0);
}

}  // namespace
}  // namespace mirrortrain::plan
