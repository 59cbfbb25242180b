#include "collective/bench.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "collective/local/local_group.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

/// What a bench over CPU devices gives and prints.
struct Run {
  Run(int ranks, const AllReduceBenchOptions& options) {
    std::vector<std::unique_ptr<Device>> owned;
    std::vector<Device*> devices;
    for (int rank = 0; rank < ranks; ++rank) {
      owned.push_back(make_cpu_device(rank, 1, {}));
      devices.push_back(owned.back().get());
    }
    const TemporaryFolder folder;
    std::FILE* out = std::fopen((folder / "out").c_str(), "w");
    message = error_text([&] { results = bench_all_reduce(options, devices, out); });
    std::fclose(out);
    printed = read_text_file(folder / "out");
  }

  std::vector<AllReduceResult> results;
  std::string message, printed;
};

}  // namespace

TEST_CASE("every algorithm is measured at every size, nothing is wrong, and busbw is algbw x 2(n-1)/n") {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const Run run(ranks, {.min_bytes = 10, .max_bytes = 3000, .factor = 20});
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == 2 * kLocalAlgorithmNames.size());
    for (std::size_t i = 0; i < run.results.size(); ++i) {
      const AllReduceResult& result = run.results[i];
      CHECK(result.algorithm == kLocalAlgorithmNames[i / 2].first);
      CHECK(result.size == (i % 2 == 0 ? 8 : 200));  // whole elements
      CHECK(result.count == result.size / 4);
      CHECK(result.wrong == 0);
      CHECK(result.time_us > 0);
      CHECK(std::abs(result.algbw - static_cast<double>(result.size) / result.time_us / 1e3) <= 1e-9 * result.algbw);
      CHECK(std::abs(result.busbw - result.algbw * 2 * (ranks - 1) / ranks) <= 1e-9 * result.algbw);
      CHECK(contains(run.printed, result.algorithm));
    }
  }
}

TEST_CASE("given counts are measured in their order, each as often as it is given, and added up") {
  const Run run(2, {.algorithms = {"ring", "one_pass"}, .counts = {1000, 7, 0, 1000}});
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
    const Run run(5, {.min_bytes = 4096, .max_bytes = 4096, .method = method});
    CHECK(run.message == "no error");
    CHECK(run.results.size() == kLocalAlgorithmNames.size());
  }
}

TEST_CASE("the JSON file holds the printed results") {
  const TemporaryFolder folder;
  const Run run(2,
                {.algorithms = {"ring", "one_pass"}, .min_bytes = 64, .max_bytes = 64, .json = folder / "bench.json"});
  CHECK(run.message == "no error");
  const auto json = nlohmann::json::parse(read_text_file(folder / "bench.json"));
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
  const Run run(1, {.algorithms = {"nccl", "ring"}, .min_bytes = 8, .max_bytes = 8});
  CHECK(run.results.size() == 1);
  CHECK(contains(run.printed, "nccl is left out"));
}

TEST_CASE("what cannot be measured is refused before anything is") {
  CHECK(Run(1, {.algorithms = {"rings"}}).message ==
        "--algorithms: unknown algorithm 'rings'; did you mean 'ring'?; there are one_pass, ring, hierarchical_copy, "
        "reduction_to_one_device");
  CHECK(contains(Run(1, {.algorithms = {"nccl"}}).message, "no algorithm is left"));
  CHECK(contains(Run(1, {.min_bytes = 3}).message, "-b: the least size is 4 bytes"));
  CHECK(contains(Run(1, {.min_bytes = 100, .max_bytes = 99}).message, "-e: the largest size, 99 bytes"));
  CHECK(contains(Run(1, {.factor = 1}).message, "-f: the factor is at least 2"));
}

TEST_CASE("the summary names the fastest algorithm of each size, neighbours together") {
  const auto result = [](std::string algorithm, std::uint64_t size, double time) {
    return AllReduceResult{{.time_us = time}, std::move(algorithm), size};
  };
  CHECK(fastest_by_size({result("a", 8, 1), result("a", 16, 2), result("a", 32, 5), result("b", 8, 2),
                         result("b", 16, 3), result("b", 32, 4)}) == "a 8 to 16, b 32");
}
