#include "collective/bench_gpus.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "collective/local/local_group.h"
#include "collective/training_lane.h"
#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using testing::PlayingGpus;

namespace {

/// A rank of a local group that it shares with the others.
class PlayingNccl : public Communicator {
 public:
  PlayingNccl(int rank, std::shared_ptr<LocalGroup> group) : group_(std::move(group)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  bool capturable() const override { return false; }
  void all_reduce(Stream& stream, Elements from, Elements to) override { mine().all_reduce(stream, from, to); }
  void reduce_scatter(Stream& stream, Elements elements) override { mine().reduce_scatter(stream, elements); }
  void all_gather(Stream& stream, Elements elements) override { mine().all_gather(stream, elements); }
  void broadcast(Stream& stream, Elements elements, int root) override { mine().broadcast(stream, elements, root); }
  void check() override { mine().check(); }
  void synchronize(Stream& stream) override { mine().synchronize(stream); }
  void abort(const std::string& reason) override { mine().abort(reason); }

 private:
  Communicator& mine() { return group_->communicator(rank_); }
  const std::shared_ptr<LocalGroup> group_;
  const int rank_;
};

std::vector<std::unique_ptr<Communicator>> make_playing_nccl(std::span<const int> gpus, double timeout_seconds) {
  const auto group = std::make_shared<LocalGroup>(static_cast<int>(gpus.size()),
                                                  LocalGroupOptions{.timeout_seconds = timeout_seconds});
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < group->size(); ++rank) ranks.push_back(std::make_unique<PlayingNccl>(rank, group));
  return ranks;
}

void wrong_sum(Stream& stream, std::span<const float* const>, float* to, std::size_t count) {
  stream.zero(reinterpret_cast<std::byte*>(to), count * sizeof(float));
}

const GpuCollectives kPlaying{
    .sum = testing::sum_on_call, .why_no_nccl = [] { return std::string(); }, .make_nccl = make_playing_nccl};

/// What a bench gives and prints.
template <class Bench>
struct Run {
  explicit Run(const Bench& bench) {
    const TemporaryFolder folder;
    std::FILE* out = std::fopen((folder / "out").c_str(), "w");
    message = error_text([&] { results = bench(out); });
    std::fclose(out);
    printed = read_text_file(folder / "out");
  }
  std::vector<AllReduceResult> results;
  std::string message, printed;
};

auto run_gpus(int gpus, const AllReduceBenchOptions& options, const GpuCollectives& collectives = kPlaying) {
  return Run([&](std::FILE* out) {
    const PlayingGpus playing(gpus, std::chrono::microseconds(1));
    return bench_gpus(options, playing.devices(), out, collectives);
  });
}

auto run_replicas(int replicas, const AllReduceBenchOptions& options, const GpuCollectives& collectives = kPlaying) {
  return Run([&](std::FILE* out) {
    const PlayingGpus playing(1, std::chrono::microseconds(1));
    return bench_replicas_on_gpu(options, *playing.devices()[0], replicas, out, collectives);
  });
}

void check_figures(const AllReduceFigures& figures, std::uint64_t size, double busbw_factor) {
  CHECK(figures.wrong == 0);
  CHECK(figures.time_us > 0);
  CHECK(std::abs(figures.algbw - static_cast<double>(size) / figures.time_us / 1e3) <= 1e-9 * figures.algbw);
  CHECK(std::abs(figures.busbw - figures.algbw * busbw_factor) <= 1e-9 * figures.algbw);
}

}  // namespace

TEST_CASE("on GPUs nccl and every local algorithm is measured out of place and in place, and nothing is wrong") {
  for (const int gpus : {1, 3}) {
    const auto run = run_gpus(gpus, {.min_bytes = 2400, .max_bytes = 2400});
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == 5);
    CHECK(run.results[0].algorithm == "nccl");
    CHECK(run.results[1].algorithm == "one_pass");
    for (const AllReduceResult& result : run.results) {
      check_figures(result, result.size, 2.0 * (gpus - 1) / gpus);
      REQUIRE(result.out_of_place);
      check_figures(*result.out_of_place, result.size, 2.0 * (gpus - 1) / gpus);
    }
    CHECK(contains(run.printed, "out of place"));
    CHECK(contains(run.printed, "# fastest in place, by bytes: "));
  }
}

TEST_CASE("replicas on one GPU are summed in one pass, and busbw is what its memory moves") {
  for (const int replicas : {2, 5}) {
    const auto run = run_replicas(replicas, {.algorithms = {"ring", "one_pass"}, .counts = {1000, 3}});
    CHECK(run.message == "no error");
    REQUIRE(run.results.size() == 2);
    for (const AllReduceResult& result : run.results) {
      CHECK(result.algorithm == "one_pass");
      check_figures(result, result.size, replicas + 1);
      check_figures(result.out_of_place.value(), result.size, replicas + 1);
    }
    CHECK(contains(run.printed, "ring is left out: it adds across GPUs, and all replicas are on cuda:0"));
    CHECK(contains(run.printed, "# all sizes, one after the other: one_pass "));
  }
  CHECK_FALSE(contains(run_replicas(2, {.counts = {3}}).printed, "left out"));
  CHECK(contains(run_replicas(2, {.algorithms = {"nccl"}}).message, "no algorithm is left"));
}

TEST_CASE("a wrong sum is found wherever it is") {
  GpuCollectives wrong = kPlaying;
  wrong.sum = wrong_sum;
  for (const char* algorithm : {"one_pass", "ring"}) {
    const auto run = run_gpus(2, {.algorithms = {algorithm}, .counts = {100}}, wrong);
    CHECK(contains(run.message, "elements were wrong"));
  }
  CHECK(contains(run_replicas(2, {.counts = {100}}, wrong).message, "elements were wrong"));
}

TEST_CASE("the JSON file holds both measurements of GPUs") {
  const TemporaryFolder folder;
  const auto run = run_gpus(2, {.algorithms = {"ring"}, .counts = {16}, .json = folder / "bench.json"});
  const auto row = nlohmann::json::parse(read_text_file(folder / "bench.json")).at("results").at(0);
  REQUIRE(run.results.size() == 1);
  CHECK(row.at("time_us").get<double>() == run.results[0].time_us);
  CHECK(row.at("out_of_place").at("time_us").get<double>() == run.results[0].out_of_place->time_us);
  CHECK(row.at("out_of_place").size() == 4);
}

TEST_CASE("nccl is left out where it is not there, and the print says why") {
  GpuCollectives without = kPlaying;
  without.why_no_nccl = [] { return std::string("libnccl.so.2 was not found"); };
  const auto run = run_gpus(2, {.algorithms = {"nccl", "ring"}, .counts = {16}}, without);
  CHECK(run.results.size() == 1);
  CHECK(contains(run.printed, "# nccl is left out: libnccl.so.2 was not found"));
  CHECK(contains(run_gpus(2, {.algorithms = {"nccl"}}, without).message, "no algorithm is left"));
  CHECK(contains(run_gpus(2, {.algorithms = {"rings"}}).message, "unknown algorithm 'rings'"));
}
