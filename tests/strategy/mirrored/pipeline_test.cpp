// Layers in stages, which compute the microbatches of a replica one after the other.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "error_text.h"
#include "every_pair.h"
#include "strategy/mirrored/pipeline_networks.h"
#include "strategy/mirrored/trained_result.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::kDenseStages;
using testing::Result;

/// The last layer reads the embedding, too.
std::string tied_stages() {
  return testing::connected_stages("reversible_embedding",
                                   "    - global_average_pooling1d: {name: pooled}\n"
                                   "    - reuse: {layer: words, reverse: true, name: logits}");
}

constexpr const char* kNormalized = R"(
data:
  global_batch_size: 13
  train: {format: synthetic, examples: 40, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers:
    - dense: {units: 20, name: a}
    - batch_normalization: {name: norm}
    - dense: {units: 3, name: d}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
)";

Result trained(const std::string& network, const std::vector<std::string>& overrides, int steps = 7) {
  Training training(network, overrides);
  return testing::trained(training, steps);
}

std::string strategy(const std::string& devices, const std::string& more) {
  return fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1{}}}", devices, more);
}

/// The result of one device with these overrides.
const Result& trained_once(std::map<std::vector<std::string>, Result>& known,
                           const std::vector<std::string>& overrides) {
  const auto found = known.find(overrides);
  if (found != known.end()) return found->second;
  std::vector<std::string> one = overrides;
  one.push_back(strategy("cpu:0", ""));
  return known.emplace(overrides, trained(kDenseStages, one)).first->second;
}

void check_same(const Result& expected, const Result& found) { check_alike(expected, found, 2e-6, 3e-6); }

TEST_CASE("a pipeline trains as one device, and the same bits on any number of devices") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"gradients.clip_norm=0.2"},
      {"gradients={accumulate_steps: 3, clip_norm: 0.3}"},
      {"training.on_non_finite=skip"},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true}", "model.recompute=[b, norm]"},
  };
  std::map<std::vector<std::string>, Result> on_one;
  for (const auto& [more, microbatches, stages, replicas] : testing::every_pair(
           variants, std::array{1, 2, 5, 16}, std::array{"[b]", "[norm, d]", "[dropout, c, d]"}, std::array{1, 2})) {
    CAPTURE(more.empty() ? std::string("sgd") : more.front());
    CAPTURE(std::string(stages));
    CAPTURE(microbatches);
    CAPTURE(replicas);
    const Result& expected = trained_once(on_one, more);
    std::optional<Result> first;
    for (const char* devices : {"cpu:0", "cpu:0, cpu:1"}) {
      std::vector<std::string> staged = more;
      staged.push_back(strategy(devices, fmt::format(", replicas: {}, pipeline: {{split_before: {}, "
                                                     "microbatches: {}}}",
                                                     replicas, stages, microbatches)));
      if (replicas == 1 && std::string(devices) != "cpu:0" && std::string(stages) == "[norm, d]") continue;
      const Result found = trained(kDenseStages, staged);
      check_same(expected, found);
      if (!first) first = found;
      CHECK(found.variables == first->variables);
      CHECK(found.losses == first->losses);
    }
  }
}

TEST_CASE(
    "the layers of stages are divided among the places of a replica, with the same bits on any number of devices") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"gradients={accumulate_steps: 2, clip_norm: 0.2}", "training.on_non_finite=skip"},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true}", "model.recompute=[b, norm]"},
  };
  std::map<std::vector<std::string>, Result> on_one;
  for (const auto& [more, mesh, stages, microbatches] :
       testing::every_pair(variants, std::array{"{data: 1, model: 2}", "{data: 2, model: 2}", "{data: 1, model: 3}"},
                           std::array{"[b]", "[dropout, c]"}, std::array{1, 4})) {
    CAPTURE(more.empty() ? std::string("sgd") : more.front());
    CAPTURE(std::string(mesh));
    CAPTURE(std::string(stages));
    CAPTURE(microbatches);
    const Result& expected = trained_once(on_one, more);
    std::optional<Result> first;
    // With two devices, one may have parts of two stages; with four, several have parts of each.
    for (const char* devices : {"cpu:0", "cpu:0, cpu:1", "cpu:0, cpu:1, cpu:2", "cpu:0, cpu:1, cpu:2, cpu:3"}) {
      const int places = std::string(mesh) == "{data: 1, model: 2}"   ? 2
                         : std::string(mesh) == "{data: 1, model: 3}" ? 3
                                                                      : 4;
      const int parts = places * (std::string(stages) == "[b]" ? 2 : 3);
      const auto count = static_cast<int>(std::count(devices, devices + std::strlen(devices), ':'));
      if (parts % count != 0) continue;
      CAPTURE(std::string(devices));
      std::vector<std::string> staged = more;
      staged.push_back(strategy(devices, fmt::format(", mesh: {}, pipeline: {{split_before: {}, microbatches: {}}}",
                                                     mesh, stages, microbatches)));
      const Result found = trained(kDenseStages, staged);
      check_same(expected, found);
      if (!first) first = found;
      CHECK(found.variables == first->variables);
      CHECK(found.losses == first->losses);
      CHECK(found.evaluated == first->evaluated);
    }
  }
}

TEST_CASE("attention, convolutions and a head of many classes are divided in stages") {
  const std::vector<std::string> untied = {
      "model.layers=[{embedding: {input_dim: 31, output_dim: 16, name: words}}, {encoder: {name: first}}, {conv1d: "
      "{filters: 16, kernel_size: 3, padding: same, activation: relu, name: convolution}}, {encoder: {name: second}}, "
      "{add: {inputs: [words, second], name: sum}}, {global_average_pooling1d: {name: pooled}}, {dense: {units: 31, "
      "name: logits}}]",
      "metrics=[accuracy]"};
  std::vector<std::string> one = untied, staged = untied;
  one.push_back(strategy("cpu:0", ""));
  const Result expected = trained(tied_stages(), one);
  for (const char* stages : {"[convolution]", "[second, pooled, logits]"}) {
    CAPTURE(std::string(stages));
    staged = untied;
    staged.push_back(
        strategy("cpu:0, cpu:1", fmt::format(", mesh: {{data: 1, model: 2}}, pipeline: {{split_before: {}, "
                                             "microbatches: 3}}",
                                             stages)));
    check_same(expected, trained(tied_stages(), staged));
  }
}

TEST_CASE("a first stage may have no kernels, and microbatches no examples") {
  for (const char* first : {"flatten", "dropout: {rate: 0.4}"}) {
    CAPTURE(std::string(first));
    const std::vector<std::string> model = {
        fmt::format(
            "model.layers=[{{{}}}, {{dense: {{units: 8, activation: relu, name: a}}}}, {{dense: {{units: 3}}}}]",
            std::string(first) == "flatten" ? "flatten: {}" : first),
        "data.global_batch_size=5", "data.train.examples=18"};
    std::vector<std::string> one = model;
    one.push_back(strategy("cpu:0", ""));
    const Result expected = trained(kDenseStages, one);
    for (const int microbatches : {4, 8, 16}) {
      for (const int replicas : {1, 2}) {
        std::vector<std::string> staged = model;
        staged.push_back(strategy("cpu:0, cpu:1", fmt::format(", mesh: {{data: {}}}, pipeline: {{split_before: [a], "
                                                              "microbatches: {}}}",
                                                              replicas, microbatches)));
        check_same(expected, trained(kDenseStages, staged));
      }
    }
  }
}

TEST_CASE("stages may begin with uses of blocks, and layers read what earlier stages computed") {
  const Result expected = trained(tied_stages(), {strategy("cpu:0", "")});
  for (const char* stages : {"[convolution]", "[first, second]", "[second, pooled, logits]"}) {
    CAPTURE(std::string(stages));
    const std::string options =
        fmt::format(", mesh: {{data: 2}}, pipeline: {{split_before: {}, microbatches: 3}}", stages);
    check_same(expected, trained(tied_stages(), {strategy("cpu:0, cpu:1", options)}));
  }
}

TEST_CASE("a pipeline has the replicas of its mesh, and keeps few microbatches at a time") {
  const auto with = [](const std::string& more) {
    return Training(kDenseStages,
                    {strategy("cpu:0, cpu:1", more), "data.global_batch_size=400", "data.train.examples=400"});
  };
  const Training whole = with(", replicas: 2"), staged = with(", pipeline: {split_before: [c], microbatches: 16}");
  CHECK(staged.strategy->num_replicas_in_sync() == 1);
  // Two of sixteen microbatches at a time.
  CHECK(staged.strategy->memory().activations < 0.3 * static_cast<double>(whole.strategy->memory().activations));
}

TEST_CASE("what a pipeline cannot compute is refused") {
  const auto message = [](const char* network, const std::string& pipeline, std::vector<std::string> more = {}) {
    more.push_back(strategy("cpu:0, cpu:1", ", pipeline: " + pipeline));
    return error_text([&] { Training(network, more); });
  };
  CHECK(contains(message(kDenseStages, "{split_before: [bb], microbatches: 2}"),
                 "'bb' is no layer and no use of a block; did you mean 'b'?"));
  CHECK(contains(message(kDenseStages, "{split_before: [nobody], microbatches: 2}"),
                 "'nobody' is no layer and no use of a block; known: a, dropout, b, norm, c, d"));
  CHECK(contains(message(kDenseStages, "{split_before: [a], microbatches: 2}"), "'a' is the first layer"));
  const std::string both = message(kDenseStages, "{split_before: [bb, cc], microbatches: 2}");
  CHECK(contains(both, "'bb' is no layer"));
  CHECK(contains(both, "'cc' is no layer"));
  CHECK(contains(message(kDenseStages, "{split_before: [c, b], microbatches: 2}"), "'b' comes before 'c'"));
  CHECK(contains(message(kDenseStages, "{split_before: [b, b], microbatches: 2}"), "name each layer once"));
  CHECK(contains(message(kDenseStages, "{split_before: [], microbatches: 2}"), "split_before"));
  CHECK(contains(message(kDenseStages, "{split_before: [b], microbatches: 0}"), "microbatches"));
  CHECK(contains(message(kDenseStages, "{split_before: [b, c], microbatches: 2}"),
                 "3 stages of 1 replica cannot be dealt to 2 devices"));
  for (const char* synchronized : {"false", "true"}) {
    CHECK(contains(message(kNormalized, "{split_before: [d], microbatches: 2}",
                           {fmt::format("model.layers[1].batch_normalization.synchronized={}", synchronized)}),
                   "is a statistic of a replica's whole part of the batch"));
  }
  CHECK(contains(
      message(kDenseStages, "{split_before: [b], microbatches: 2}", {"variables=[{match: \"a/*\", aggregation: sum}]"}),
      "only aggregation: mean is possible"));
  CHECK(contains(error_text([] {
                   Training(kDenseStages, {strategy("cpu:0, cpu:1, cpu:2, cpu:3, cpu:4",
                                                    ", mesh: {data: 1, model: 2}, pipeline: {split_before: [b], "
                                                    "microbatches: 2}")});
                 }),
                 "2 stages of 1 replica of 2 places cannot be dealt to 5 devices"));
}

}  // namespace
}  // namespace mirrortrain
