// What a lane does in a training step, action by action, as "A batch's path" in CONTRIBUTING.md has it.
#include "strategy/steps/step_list.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "strategy/mirrored/worker_threads.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

std::string list_of(const std::string& devices, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {
      fmt::format("strategy={{type: mirrored, devices: {}, threads_per_replica: 1}}", devices)};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return step_list(*Training(kMlp, overrides).strategy);
}

TEST_CASE("one replica computes, updates and reports") {
  CHECK(list_of("[cpu:0]") ==
        "cpu:0: send inputs, gather rows, run layers, update, write variables, refresh derived copies, "
        "sum regularization, send sums");
}

TEST_CASE("lanes of one memory share their layers and updates, and meet after each") {
  const std::string second =
      "set up the update, run layers, wait for other devices, set up the next step, update, write variables, "
      "wait for other devices, refresh derived copies";
  CHECK(list_of("[cpu:0, cpu:1]") ==
        "cpu:0: " + second + ", sum regularization, send sums\ncpu:1: " + second + ", send sums");
}

TEST_CASE("replicas that are dealt to fewer lanes change no list") {
  CHECK(list_of("[cpu:0, cpu:1]", {"strategy.replicas=4"}) == list_of("[cpu:0, cpu:1]"));
}

TEST_CASE("gradients that are accumulated are kept before the update, and clipping needs their norm") {
  const std::string begin = "cpu:0: send inputs, gather rows, run layers, accumulate gradients";
  const std::string end = "update, write variables, refresh derived copies, sum regularization, send sums";
  CHECK(list_of("[cpu:0]", {"gradients={accumulate_steps: 2}"}) == begin + ", " + end);
  CHECK(list_of("[cpu:0]", {"gradients={clip_norm: 1.0}"}) == begin + ", scale to norms, " + end);
  CHECK(list_of("[cpu:0]", {"training={on_non_finite: skip}"}) == begin + ", sum squares, find non-finite, " + end);
}

TEST_CASE("layers that wait for a sum over the replicas run in parts") {
  const std::string normalized =
      "model.layers=[{dense: {units: 7}}, {batch_normalization: {synchronized: true}}, {dense: {units: 3}}]";
  CHECK(list_of("[cpu:0]", {"strategy.replicas=2", normalized}) ==
        "cpu:0: send inputs, gather rows, run layers, gather rows, run layers, run collective, run layers x 2, "
        "run collective, run layers x 2, update, write variables, refresh derived copies, send sums");
}

/// Of each of two workers.
std::vector<std::string> lists_of_workers(const std::string& more) {
  std::vector<std::string> lists(2);
  const std::string error = testing::run_workers(
      2, kMlp, {testing::replicas_on_cpus(1, ", cross_device_ops: ring, communication: {bytes_per_pack: 64}" + more)},
      [&](int worker, Training& training) { lists[static_cast<std::size_t>(worker)] = step_list(*training.strategy); });
  CHECK(error == "no error");
  return lists;
}

TEST_CASE("workers reduce each bucket as soon as it is full") {
  const std::vector<std::string> lists = lists_of_workers("");
  CHECK(lists[0] ==
        "cpu:0: send inputs, gather rows, run layers, reduce bucket x 2, run layers, reduce bucket x 2, run layers, "
        "wait for buckets, update, write variables, refresh derived copies, sum regularization, send sums");
  CHECK(lists[1] == lists[0]);
}

TEST_CASE("rows of a large table's gradient are summed by each replica, and gathered from other workers") {
  const std::vector<std::string> words = {
      "data.train={format: synthetic, examples: 43, inputs: {text: {shape: [2], below: 9000}}, classes: 3, seed: 5}",
      "model={inputs: {text: {shape: [2]}}, layers: [{embedding: {input_dim: 9000, output_dim: 4}}, {flatten: {}}, "
      "{dense: {units: 3}}]}"};
  CHECK(list_of("[cpu:0]", words) ==
        "cpu:0: send inputs, gather rows, run layers, sum lookups, update, write variables, refresh derived copies, "
        "send sums");
  std::vector<std::string> overrides = words;
  overrides.push_back(testing::replicas_on_cpus(1));
  std::vector<std::string> lists(2);
  const std::string error = testing::run_workers(2, kMlp, overrides, [&](int worker, Training& training) {
    lists[static_cast<std::size_t>(worker)] = step_list(*training.strategy);
  });
  CHECK(error == "no error");
  CHECK(lists[0] ==
        "cpu:0: send inputs, gather rows, run layers, reduce bucket, run layers, wait for buckets, sum lookups, gather "
        "sparse gradients, update, write variables, refresh derived copies, send sums");
  CHECK(lists[1] == lists[0]);
}

TEST_CASE("workers that each update a part of the weights gather them") {
  const std::vector<std::string> lists = lists_of_workers(", optimizer_state: sharded");
  CHECK(
      lists[0] ==
      "cpu:0: send inputs, gather rows, wait for weights, run layers, wait for weights, run layers, reduce bucket x 2, "
      "run layers, reduce bucket x 2, run layers, wait for buckets, update, write variables, begin gathering weights, "
      "refresh derived copies, sum "
      "regularization, send sums");
}

}  // namespace
}  // namespace mirrortrain
