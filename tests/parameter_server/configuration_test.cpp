// What the configuration of a run with parameter servers refuses, and what each task makes of it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "error_text.h"
#include "temporary_folder.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluator.h"
#include "train/session/check_configuration.h"
#include "train/session/parameter_server_task.h"
#include "train/session/run_strategy.h"
#include "train/staleness.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

std::string error_of(const std::vector<std::string>& overrides) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "test.yaml";
  std::ofstream(file) << kMlp;
  return error_text([&] { check_configuration(file.string(), overrides); });
}

TEST_CASE("what means nothing with parameter servers, or without, is refused") {
  const std::string served = "strategy.type=parameter_server";
  CHECK(error_of({served}) == "no error");
  CHECK(error_of({served, "strategy.partitioner={type: fixed_shards, num_shards: 2}", "strategy.max_staleness=0"}) ==
        "no error");
  CHECK(contains(error_of({served, "strategy.cross_device_ops=ring"}), "leave it out"));
  CHECK(contains(error_of({served, "strategy.communication.bytes_per_pack=64K"}), "join_timeout_seconds alone"));
  CHECK(contains(error_of({served, "gradients.accumulate_steps=2"}), "larger data.global_batch_size"));
  CHECK(contains(error_of({served, "strategy.partitioner={type: fixed_shards, num_shards: 0}"}), "num_shards"));
  CHECK(contains(error_of({served, "strategy.partitioner={type: min_size, min_shard_bytes: 0}"}), "at least 1 byte"));
  CHECK(contains(error_of({served, "strategy.partitioner={type: max_size}"}), "max_shard_bytes"));
  CHECK(contains(error_of({"strategy.partitioner={type: fixed_shards, num_shards: 2}"}), "type: parameter_server"));
  CHECK(contains(error_of({"strategy.max_staleness=2"}), "type: parameter_server"));
}

TEST_CASE("shards of a variable are refused where the optimizer needs the norm of the whole") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "test.yaml";
  std::ofstream(file) << kMlp;
  const auto placed = [&](const char* optimizer, const char* partitioner, const char* more = "seed=3") {
    const std::vector<std::string> overrides = {"strategy.type=parameter_server",
                                                fmt::format("optimizer={}", optimizer),
                                                fmt::format("strategy.partitioner={}", partitioner), more};
    const CheckedConfiguration checked = check_configuration(file.string(), overrides);
    return error_text([&] { placement_of(checked, 2); });
  };
  CHECK(placed("lamb", "{type: fixed_shards, num_shards: 2}") ==
        "strategy.partitioner: it would split 'dense/kernel' into shards, but optimizer lamb needs the whole "
        "variable; leave the partitioner out, make its shards larger, or do without");
  CHECK(placed("lamb", "min_size") == "no error");  // nothing here is as large
  CHECK(placed("adam", "{type: fixed_shards, num_shards: 2}") == "no error");
  CHECK(contains(
      placed("adam", "{type: fixed_shards, num_shards: 2}", "model.layers[1].dense.kernel_constraint=max_norm"),
      "it would split 'dense_1/kernel' into shards, but its constraint needs the whole"));
}

TEST_CASE("weights that every step assigns are refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "test.yaml";
  std::ofstream(file) << kMlp;
  const std::vector<std::string> overrides = {
      "strategy.type=parameter_server",
      "model.layers=[{spectral_normalization: {layer: {dense: {units: 7}}}}, {dense: {units: 3}}]"};
  CHECK(contains(error_text([&] { check_configuration(file.string(), overrides); }),
                 "each step assigns the kernel, which workers of parameter_server do not do together"));
}

TEST_CASE("a cluster without one of the jobs is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "test.yaml";
  std::ofstream(file) << kMlp;
  const std::vector<std::string> overrides = {"strategy.type=parameter_server"};
  const CheckedConfiguration checked = check_configuration(file.string(), overrides);
  const rpc::Security security;
  ClusterSpec cluster;
  cluster.source = "TF_CONFIG";
  const auto refusal = [&] { return error_text([&] { ParameterServerTask(checked, cluster, security); }); };
  cluster.workers = {"a:1"};
  CHECK(contains(refusal(), "TF_CONFIG: strategy.type parameter_server needs a chief"));
  cluster.chief = "a:2";
  CHECK(contains(refusal(), "needs ps tasks"));
  cluster.ps = {"a:3"};
  CHECK(refusal() == "no error");
}

TEST_CASE("staleness is reported as mean, largest and counts") {
  CHECK(staleness_text({}).empty());
  CHECK(staleness_text({12, 80, 0, 3}) == "mean 0.94, largest 3 (0: 12, 1: 80, 3: 3)");
  StalenessHistogram many(20);
  many[15] = many[16] = many[19] = 1;
  CHECK(staleness_text(many) == "mean 16.67, largest 19 (15: 1, 16 or more: 2)");
  CHECK(since({1, 2}, {1, 5, 0, 1}) == StalenessHistogram{0, 3, 0, 1});
  CHECK(since({1, 2}, {1, 2}).empty());
}

TEST_CASE("an evaluator evaluates new checkpoints and the last one") {
  const std::vector<std::string> overrides = {
      "data.validation={format: synthetic, examples: 9, shape: [6], classes: 3, seed: 6}"};
  Training training(kMlp, overrides);
  const auto folder = training.folder() / "checkpoints";
  Checkpoints checkpoints(folder, *training.strategy, {training.checked.model->slot_names(), {}}, {});
  std::vector<report::EvaluationEvent> events;
  int looks = 0;
  evaluate_checkpoints(
      training.checked, this_hardware(), folder,
      [&] {
        ++looks;
        if (looks > 2) return true;
        training.steps(looks);
        checkpoints.save(training.state, 1);
        checkpoints.finish();
        return false;
      },
      [&](const report::EvaluationEvent& event) { events.push_back(event); });
  REQUIRE(events.size() == 2);
  CHECK(events[0].step == 1);
  CHECK(events[1].step == 3);
  CHECK(events[1].examples == 9);
  CHECK(events[1].split == "validation");
  CHECK(events[1].scores.loss != events[0].scores.loss);
  Training without(kMlp);
  CHECK(contains(error_text([&] {
                   evaluate_checkpoints(
                       without.checked, this_hardware(), folder, [] { return true; }, [](const auto&) {});
                 }),
                 "data.validation or data.test"));
}

}  // namespace
}  // namespace mirrortrain
