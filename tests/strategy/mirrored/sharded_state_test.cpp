// The optimizer's state divided among memories: each updates its part of the weights, and they gather them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "every_pair.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/mirrored/trained_result.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::check_resumes;
using testing::on_workers;
using testing::replicas_on_cpus;
using testing::Result;
using testing::run_workers;
using testing::RunToResume;
using testing::trained_by;
using testing::unconstrained;

/// Sizes that no number of memories divides.
constexpr const char* kNetwork = R"(
seed: 3
data:
  global_batch_size: 12
  shuffle: true
  train: {format: synthetic, examples: 40, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers:
    - dense: {units: 67, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - batch_normalization: {momentum: 0.5, synchronized: true}
    - dense: {units: 131, activation: relu, kernel_constraint: {max_norm: {max_value: 0.9}}}
    - dense: {units: 3, bias_regularizer: {l1: 0.002}}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";

constexpr const char* kSharded = ", optimizer_state: sharded";

TEST_CASE("weights whose state is sharded are those of a replicated state") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}"},
      {"optimizer={type: sgd, learning_rate: 0.1}"},
      {"optimizer={type: adamw, learning_rate: 0.01, weight_decay: 0.1, use_ema: true, ema_momentum: 0.8}"},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true, ema_overwrite_frequency: 3}"},
      {"gradients.clip_norm=0.2"},
      {"gradients.clip_value=0.01"},
      {"gradients={accumulate_steps: 3, clip_norm: 0.3}"},
      {"training.on_non_finite=skip"},
      {"variables=[{match: \"dense_1/*\", aggregation: sum}]", "gradients.clip_norm=0.2"},
      {"variables=[{match: \"dense_1/*\", synchronization: none, aggregation: none}]", "gradients.clip_norm=0.2"},
      {"training.precision=mixed_bfloat16"},
  };
  for (const auto& [more, replicas, buckets] : testing::every_pair(
           variants, std::vector<std::pair<int, int>>{{2, 1}, {2, 2}, {3, 1}, {4, 1}},
           std::vector<std::pair<const char*, std::string>>{{"0", kNetwork}, {"3000", unconstrained(kNetwork)}})) {
    CAPTURE(more.empty() ? std::string("adam") : more.front());
    const auto& [workers, each] = replicas;
    const auto& [bytes, network] = buckets;
    CAPTURE(workers);
    const std::string communication = fmt::format(", communication: {{bytes_per_pack: {}}}", bytes);
    const Result expected = on_workers(network.c_str(), workers, each, communication, more),
                 found = on_workers(network.c_str(), workers, each, communication + kSharded, more);
    check_alike(expected, found, 1e-6, 2e-6);
  }
}

TEST_CASE("weights that arrive late are waited for where they are read, by every replica of a lane") {
  // Without a collective in the layers, so that the lanes wait for each bucket when they need it.
  const std::string network = R"(
seed: 3
data:
  global_batch_size: 12
  train: {format: synthetic, examples: 40, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers: [{dense: {units: 67, activation: tanh}}, {dense: {units: 31, activation: relu}}, {dense: {units: 40}}, {dense: {units: 3}}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";
  const std::vector<std::vector<std::string>> variants = {
      {"strategy.communication.bytes_per_pack=100"},
      {"strategy.communication.bytes_per_pack=3000"},
      {"strategy.communication.bytes_per_pack=3000", "training.precision=mixed_bfloat16"},
      {"strategy.communication.bytes_per_pack=100", "model.recompute=[dense*]"},
      // A variable without a gradient, whose bucket is full before the first kernel.
      {"strategy.communication.bytes_per_pack=1",
       "model.layers=[{dense: {units: 67}}, {expression: {formula: \"x + where(x > t, 0.1, 0.2) + sign(s)\", "
       "parameters: "
       "{t: {shape: [1]}, s: {shape: [1], initializer: ones}}}}, {dense: {units: 3}}]"},
  };
  for (const std::vector<std::string>& variant : variants) {
    for (const auto& [workers, devices, replicas] : {std::tuple{2, 1, 1}, {2, 1, 2}, {3, 2, 4}, {2, 2, 2}}) {
      CAPTURE(variant.back());
      CAPTURE(workers);
      CAPTURE(replicas);
      std::vector<std::string> more = variant;
      more.push_back(fmt::format("strategy.replicas={}", replicas));
      more.insert(more.begin(), replicas_on_cpus(devices));
      const Result expected = trained_by(workers, network.c_str(), "strategy.optimizer_state=replicated", more),
                   found = trained_by(workers, network.c_str(), "strategy.optimizer_state=sharded", more, 7,
                                      this_hardware, true);
      check_alike(expected, found, 1e-6, 2e-6);
    }
  }
}

TEST_CASE("a sharded state works where the sum is gathered and where layers are divided") {
  for (const char* more : {", cross_device_ops: reduction_to_one_device", ", mesh: {data: 2, model: 2}"}) {
    CAPTURE(std::string(more));
    for (const std::string& network : {std::string(kNetwork), unconstrained(kNetwork)}) {
      const Result expected = on_workers(network.c_str(), 2, 2, more, {}),
                   found = on_workers(network.c_str(), 2, 2, more + std::string(kSharded), {});
      CHECK(difference(expected.variables, found.variables) < 2e-6);
      CHECK(found.losses.back() == doctest::Approx(expected.losses.back()).epsilon(1e-6));
    }
  }
}

TEST_CASE("each of several memories keeps its part of the state") {
  const auto bytes_on = [](int workers, const char* options) {
    std::size_t bytes = 0;
    REQUIRE(
        run_workers(workers, kNetwork,
                    {replicas_on_cpus(1, options), "model.layers[0].dense.units=2000", "gradients.accumulate_steps=2"},
                    [&](int worker, Training& training) {
                      if (worker == 0) bytes = training.strategy->memory().variables;
                    }) == "no error");
    return static_cast<double>(bytes);
  };
  // Two slots and the accumulated gradients.
  const double weights = (9 + 1) * 2000 + 2000 * 131, state = 3 * weights * sizeof(float);
  for (const int workers : {2, 3, 4}) {
    const double saved = bytes_on(workers, "") - bytes_on(workers, kSharded);
    CHECK(saved == doctest::Approx(state * (workers - 1) / workers).epsilon(0.02));
  }
}

TEST_CASE("a checkpoint of any mesh and number of memories, sharded or not, is resumed by any other") {
  for (const auto& [accumulates, network] : {std::pair("gradients.accumulate_steps=1", unconstrained(kNetwork)),
                                             {"gradients.accumulate_steps=2", std::string(kNetwork)}}) {
    const std::string mesh = ", mesh: {data: 2, model: 2}";
    const std::vector<RunToResume> runs{{1, ""},
                                        {2, kSharded},
                                        {3, kSharded},
                                        {2, ""},
                                        {1, ", mesh: {data: 1, model: 2}"},
                                        {2, ", mesh: {data: 1, model: 2}"},
                                        {4, mesh},
                                        {4, mesh + kSharded},
                                        {3, ", mesh: {data: 1, model: 3}"}};
    check_resumes(network.c_str(), runs, accumulates, 1e-4);
  }
}

TEST_CASE("pieces of what lasts are the wholes, however it is divided") {
  using Thing = std::tuple<std::size_t, Lasting, std::size_t>;    // variable, what of it, slot
  const std::string large = "model.layers[2].dense.units=20000";  // 67 x 20000 numbers are more than a piece
  for (const std::string& options :
       {std::string(), std::string(kSharded), std::string(", optimizer_state: sharded_weights")}) {
    CAPTURE(options);
    REQUIRE(run_workers(3, kNetwork, {replicas_on_cpus(1, options), large, "gradients.accumulate_steps=2"},
                        [&](int worker, Training& training) {
                          training.steps(3);
                          std::map<Thing, std::vector<std::byte>> wholes, pieces;
                          std::map<Thing, std::int64_t> counts;
                          Strategy& strategy = *training.strategy;
                          strategy.read_variables(Lasting::kAll, [&](const LastingVariable& variable) {
                            for_each_piece(variable, [&](const LastingPiece& whole) {
                              auto& to = wholes[{whole.index, whole.what, whole.slot}];
                              to.resize(whole.elements.bytes());
                              whole.elements.read_or_first(to.data());
                            });
                          });
                          strategy.read_in_pieces(Lasting::kAll, [&](const LastingPiece& piece) {
                            const Thing thing{piece.index, piece.what, piece.slot};
                            auto& to = pieces[thing];
                            CHECK(to.size() == static_cast<std::size_t>(piece.first) * sizeof(float));
                            to.resize(to.size() + piece.elements.bytes());
                            piece.elements.read_or_first(to.data() + to.size() - piece.elements.bytes());
                            ++counts[thing];
                          });
                          CHECK(pieces.size() == wholes.size());
                          CHECK((pieces == wholes));
                          const std::int64_t most = std::ranges::max(counts | std::views::values);
                          CHECK(most == (options.empty() ? 1 : 2));
                          if (worker == 0) CHECK(wholes.contains({0, Lasting::kSlots, 1}));
                        }) == "no error");
  }
}

TEST_CASE("one memory has the state once, whatever the number of replicas") {
  const Training training(kNetwork, {replicas_on_cpus(3, kSharded, "mirrored")});
  CHECK(contains(training.strategy->note(), "optimizer_state has no effect: all replicas share one memory"));
}

}  // namespace
}  // namespace mirrortrain
