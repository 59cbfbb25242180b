#include "bench/all_reduce_bench.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "bench/reduction_timer.h"
#include "collective/thread_group.h"
#include "collective/training_lane.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"
#include "kernels/cpu/backend.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using testing::SimulatedGpus;

namespace {

Communicators thread_ranks(std::span<const int> gpus, double timeout_seconds) {
  const auto group = std::make_shared<testing::ThreadGroup>(static_cast<int>(gpus.size()), timeout_seconds);
  return {group, group->ranks()};
}

BenchHardware on_cpus() {
  return {cpu::backend().step_kernels(), [] { return std::string("there is no GPU"); }, thread_ranks};
}
BenchHardware on_gpus() {
  return {testing::summing_kernels(), [] { return std::string(); }, thread_ranks};
}

/// What a bench gives and prints.
struct BenchRun {
  /// On CPU devices.
  BenchRun(int devices, const AllReduceBenchOptions& options) {
    std::vector<std::unique_ptr<Device>> owned;
    std::vector<Device*> pointers;
    for (int i = 0; i < devices; ++i) {
      owned.push_back(make_cpu_device(i, 1, {}));
      pointers.push_back(owned.back().get());
    }
    bench(options, pointers, 1, on_cpus());
  }
  /// On simulated GPUs.
  BenchRun(const SimulatedGpus& gpus, const AllReduceBenchOptions& options, int replicas = 1,
           const BenchHardware& hardware = on_gpus()) {
    bench(options, gpus.devices(), replicas, hardware);
  }

  std::vector<AllReduceResult> results;
  std::string message, printed;

 private:
  void bench(const AllReduceBenchOptions& options, std::span<Device* const> devices, int replicas,
             const BenchHardware& hardware) {
    const TemporaryFolder folder;
    std::FILE* out = std::fopen((folder / "out").c_str(), "w");
    message = error_text([&] { results = bench_all_reduce(options, devices, replicas, hardware, out); });
    std::fclose(out);
    printed = read_text_file(folder / "out");
  }
};

void check_figures(const AllReduceResult& result, double busbw_factor) {
  CHECK(result.wrong == 0);
  CHECK(result.count == result.size / 4);
  CHECK(result.time_us > 0);
  CHECK(std::abs(result.algbw - static_cast<double>(result.size) / result.time_us / 1e3) <= 1e-9 * result.algbw);
  CHECK(std::abs(result.busbw - result.algbw * busbw_factor) <= 1e-9 * result.algbw);
}

constexpr const char* kInOneMemory[] = {"one_pass", "ring", "hierarchical_copy", "reduction_to_one_device"};
constexpr const char* kAcrossGpus[] = {"nccl", "ring", "hierarchical_copy", "reduction_to_one_device"};

}  // namespace

TEST_CASE("every algorithm is measured at every size, nothing is wrong, and busbw is algbw x 2(n-1)/n") {
  for (int devices = 1; devices <= 3; ++devices) {
    const BenchRun run(devices, {.min_bytes = 10, .max_bytes = 3000, .factor = 20});
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == 2 * std::size(kInOneMemory));
    for (std::size_t i = 0; i < run.results.size(); ++i) {
      const AllReduceResult& result = run.results[i];
      CHECK(result.algorithm == kInOneMemory[i / 2]);
      CHECK(result.size == (i % 2 == 0 ? 8 : 200));  // whole elements
      check_figures(result, 2.0 * (devices - 1) / devices);
      CHECK(contains(run.printed, result.algorithm));
    }
  }
}

TEST_CASE("given counts are measured in their order, each as often as it is given, and added up") {
  const BenchRun run(2, {.algorithms = {"ring", "one_pass"}, .counts = {1000, 7, 0, 1000}});
  CHECK(run.message == "no error");
  REQUIRE(run.results.size() == 8);
  const std::size_t counts[] = {1000, 7, 0, 1000};
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    CHECK(run.results[i].algorithm == (i < 4 ? "ring" : "one_pass"));
    CHECK(run.results[i].count == counts[i % 4]);
    CHECK(run.results[i].size == 4 * counts[i % 4]);
    CHECK(run.results[i].wrong == 0);
  }
  CHECK(contains(run.printed, "# all sizes, one after the other: ring "));
}

TEST_CASE("every aggregation method is measured and right") {
  for (const AggregationMethod method : {AggregationMethod::kTree, AggregationMethod::kAccumulateN}) {
    const BenchRun run(5, {.min_bytes = 4096, .max_bytes = 4096, .method = method});
    CHECK(run.message == "no error");
    CHECK(run.results.size() == std::size(kInOneMemory));
  }
}

TEST_CASE("the JSON file holds the printed results") {
  const TemporaryFolder folder;
  const BenchRun run(
      2, {.algorithms = {"ring", "one_pass"}, .min_bytes = 64, .max_bytes = 64, .json = folder / "bench.json"});
  CHECK(run.message == "no error");
  const auto json = parse_json<nlohmann::json>(read_text_file(folder / "bench.json"));
  REQUIRE(json.at("results").size() == 2);
  const auto& first = json["results"][0];
  CHECK(first.size() == 8);
  CHECK(first.at("algorithm") == "ring");
  CHECK(first.at("size") == 64);
  CHECK(first.at("count") == 16);
  CHECK(first.at("type") == "float");
  CHECK(first.at("time_us").get<double>() == run.results[0].time_us);
  CHECK(first.at("algbw").get<double>() == run.results[0].algbw);
  CHECK(first.at("busbw").get<double>() == run.results[0].busbw);
  CHECK(first.at("wrong") == 0);
}

TEST_CASE("nccl is left out without GPUs, and the print says so") {
  const BenchRun run(1, {.algorithms = {"nccl", "ring"}, .min_bytes = 8, .max_bytes = 8});
  CHECK(run.results.size() == 1);
  CHECK(contains(run.printed, "nccl is left out"));
}

TEST_CASE("across GPUs nccl and every staged operation is measured, several in a row, and nothing is wrong") {
  for (const int size : {1, 3}) {
    const SimulatedGpus gpus(size, std::chrono::microseconds(1));
    const BenchRun run(gpus, {.min_bytes = 2400, .max_bytes = 2400});
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == std::size(kAcrossGpus));
    for (std::size_t i = 0; i < run.results.size(); ++i) {
      CHECK(run.results[i].algorithm == kAcrossGpus[i]);
      check_figures(run.results[i], 2.0 * (size - 1) / size);
    }
    CHECK(contains(run.printed, "one_pass is left out: it adds in one memory"));
  }
}

TEST_CASE("replicas on one GPU are summed in one pass, and busbw is what its memory moves") {
  const SimulatedGpus gpu(1, std::chrono::microseconds(1));
  for (const int replicas : {2, 5}) {
    const BenchRun run(gpu, {.algorithms = {"ring", "one_pass"}, .counts = {1000, 3}}, replicas);
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == 2);
    for (const AllReduceResult& result : run.results) {
      CHECK(result.algorithm == "one_pass");
      check_figures(result, replicas + 1);
    }
    CHECK(contains(run.printed, "ring is left out: it adds across GPUs, and all replicas are on cuda:0"));
    CHECK(contains(run.printed, "# all sizes, one after the other: one_pass "));
  }
  CHECK(contains(BenchRun(gpu, {.algorithms = {"nccl"}}, 2).message, "no algorithm is left"));
}

namespace {

/// Forgets a replica.
class WrongReducer : public GradientReducer {
 public:
  void start(Stream&, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override {
    lane.arrive_and_wait();
    if (!lane.is_first()) return;
    for (std::int64_t i = 0; i < bucket.elements; ++i) {
      for (std::size_t r = 1; r + 1 < scales.size(); ++r) bucket.gradient(0)[i] += bucket.gradient(r)[i];
    }
  }
};

}  // namespace

TEST_CASE("sums that are wrong are counted") {
  const auto first = make_cpu_device(0, 1, {}), second = make_cpu_device(1, 1, {});
  std::vector<TimedDomain> domains(1);
  domains[0].devices = {first.get(), second.get()};
  domains[0].replicas = 2;
  domains[0].reducer = std::make_unique<WrongReducer>();
  const std::size_t counts[] = {1000};
  std::uint64_t wrong = 0;
  time_reduction(domains, counts, false, 20, [&](std::size_t, const ReductionTiming& timing) { wrong = timing.wrong; });
  CHECK(wrong > 5 * 900);  // nearly every element of every repetition: only a term of 0 goes unnoticed
}

TEST_CASE("nccl is left out where it does not exist, and the print says why") {
  BenchHardware without = on_gpus();
  without.why_no_nccl = [] { return std::string("libnccl.so.2 was not found"); };
  const SimulatedGpus gpus(2, std::chrono::microseconds(1));
  const BenchRun run(gpus, {.algorithms = {"nccl", "ring"}, .counts = {16}}, 1, without);
  CHECK(run.results.size() == 1);
  CHECK(contains(run.printed, "# nccl is left out: libnccl.so.2 was not found"));
  CHECK(contains(BenchRun(gpus, {.algorithms = {"nccl"}}, 1, without).message, "no algorithm is left"));
}

TEST_CASE("what cannot be measured is refused before anything is") {
  CHECK(BenchRun(1, {.algorithms = {"rings"}}).message ==
        "--algorithms: unknown algorithm 'rings'; did you mean 'ring'?; there are nccl, one_pass, ring, "
        "hierarchical_copy, "
        "reduction_to_one_device");
  CHECK(contains(BenchRun(1, {.algorithms = {"nccl"}}).message, "no algorithm is left"));
  CHECK(contains(BenchRun(1, {.min_bytes = 3}).message, "-b: the least size is 4 bytes"));
  CHECK(contains(BenchRun(1, {.min_bytes = 100, .max_bytes = 99}).message, "-e: the largest size, 99 bytes"));
  CHECK(contains(BenchRun(1, {.factor = 1}).message, "-f: the factor is at least 2"));
}

TEST_CASE("the summary names the fastest algorithm of each size, neighbours together") {
  const auto result = [](std::string algorithm, std::uint64_t size, double time) {
    return AllReduceResult{.algorithm = std::move(algorithm), .size = size, .time_us = time};
  };
  CHECK(fastest_by_size({result("a", 8, 1), result("a", 16, 2), result("a", 32, 5), result("b", 8, 2),
                         result("b", 16, 3), result("b", 32, 4)}) == "a 8 to 16, b 32");
}
