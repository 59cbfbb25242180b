// The state of optimizers that read whole variables, divided among memories: each keeps that of whole variables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>

#include "every_pair.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/mirrored/trained_result.h"
#include "strategy/variables/ownership.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::check_resumes;
using testing::on_workers;
using testing::replicas_on_cpus;
using testing::Result;
using testing::run_workers;
using testing::RunToResume;
using testing::unconstrained;

/// Variables of very different sizes, of which one is small and some are regularized or constrained.
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
    - dense: {units: 41, activation: tanh}
    - dense: {units: 3, bias_regularizer: {l1: 0.002}}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
)";

const std::vector<std::string> kExact = {
    "optimizer={type: adafactor, learning_rate: 0.1, weight_decay: 0.1, use_ema: true, ema_momentum: 0.8}",
    "optimizer={type: muon, learning_rate: 0.02}",
    "optimizer={type: sgd, learning_rate: 0.1, momentum: 0.5, clipnorm: 0.05}",
};
const std::vector<std::string> kNear = {
    "optimizer={type: lamb, learning_rate: 0.02, clipnorm: 0.01}",
    "optimizer={type: lamb, learning_rate: 0.02, use_ema: true, ema_overwrite_frequency: 3}",
    "optimizer=[{type: muon, match: \"dense/*\", learning_rate: 0.02}, {type: lamb, match: \"*/kernel\", "
    "learning_rate: "
    "0.02}, {type: adam, learning_rate: 0.01}]",
};
const std::vector<std::string> kStates = {", optimizer_state: sharded", ", optimizer_state: sharded_gradients",
                                          ", optimizer_state: sharded_weights"};

TEST_CASE(
    "weights whose state is owned are those of a replicated state, in the same bits where the sums are the same") {
  for (const bool is_exact : {true, false}) {
    for (const auto& [optimizer, replicas, state] :
         testing::every_pair(is_exact ? kExact : kNear,
                             std::vector<std::pair<int, int>>{{2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}}, kStates)) {
      const auto& [workers, each] = replicas;
      CAPTURE(optimizer);
      CAPTURE(workers);
      CAPTURE(state);
      const std::string network = workers % 2 == 0 ? kNetwork : unconstrained(kNetwork);
      const Result expected = on_workers(network.c_str(), workers, each, "", {optimizer}),
                   found = on_workers(network.c_str(), workers, each, state, {optimizer});
      check_alike(expected, found, 1e-6, 2e-6);
      if (is_exact) CHECK(found.variables == expected.variables);
    }
  }
}

TEST_CASE("norms, accumulation, skipped steps, small buckets and own variables go with an owned state") {
  const std::vector<std::vector<std::string>> variants = {
      {"gradients={accumulate_steps: 3, clip_norm: 0.3}"},
      {"training.on_non_finite=skip"},
      {"variables=[{match: \"dense_1/*\", aggregation: sum}]", "gradients.clip_norm=0.2"},
      {"variables=[{match: \"dense_1/*\", synchronization: none, aggregation: none}]", "gradients.clip_norm=0.2"},
      {"training.precision=mixed_bfloat16"},
      {"strategy.communication.bytes_per_pack=3000"},
      {"strategy.cross_device_ops=reduction_to_one_device"},
  };
  for (std::vector<std::string> more : variants) {
    CAPTURE(more.front());
    more.push_back("optimizer={type: lamb, learning_rate: 0.02}");
    const Result expected = on_workers(kNetwork, 3, 1, "", more),
                 found = on_workers(kNetwork, 3, 1, ", optimizer_state: sharded", more);
    check_alike(expected, found, 1e-6, 2e-6);
  }
}

TEST_CASE("each variable's state is in one memory, and the memories have about as much") {
  const auto state_of = [](int workers, const std::string& options) {
    std::vector<std::size_t> bytes(static_cast<std::size_t>(workers));
    std::vector<int> owners;
    REQUIRE(run_workers(workers, kNetwork,
                        {replicas_on_cpus(1, options), "optimizer={type: lamb, learning_rate: 0.01}",
                         "model.layers=[{dense: {units: 900}}, {dense: {units: 900}}, {dense: {units: 900}}, {dense: "
                         "{units: 900}}, {dense: {units: 3}}]"},
                        [&](int worker, Training& training) {
                          bytes[static_cast<std::size_t>(worker)] = training.strategy->memory().variables;
                          if (worker == 0) owners = training.strategy->state_owners();
                        }) == "no error");
    return std::pair(bytes, owners);
  };
  const double kernel = 900 * 900 * sizeof(float), kept = 3;  // two slots and the accumulated gradients
  const auto [whole, none] = state_of(3, "");
  const auto [parts, owners] = state_of(3, kStates[0]);
  CHECK(none.empty());
  // dense_1, dense_2 and dense_3 have large kernels; all else together is smaller than one.
  CHECK(owners[2] == 0);
  CHECK(owners[4] == 1);
  CHECK(owners[6] == 2);
  for (const std::size_t bytes : parts) {
    CHECK(static_cast<double>(whole[0] - bytes) == doctest::Approx(2 * kept * kernel).epsilon(0.03));
  }
}

TEST_CASE("items are dealt to the share that has least, the largest first") {
  const std::vector<std::int64_t> sizes{5, 9, 1, 5, 4};
  CHECK(dealt_by_size(sizes, 2) == std::vector<int>{1, 0, 1, 1, 0});
  CHECK(dealt_by_size(sizes, 1) == std::vector<int>(5, 0));
  CHECK(dealt_by_size({}, 3).empty());
}

TEST_CASE("a checkpoint of an owned state is resumed by any number of memories, owned, replicated or alone") {
  const std::vector<RunToResume> runs{{3, kStates[2]}, {1, ""}, {2, ""}, {2, kStates[0]}};
  for (const char* optimizer : {"optimizer={type: adafactor, learning_rate: 0.1}",
                                "optimizer=[{type: muon, match: \"*/kernel\", learning_rate: 0.02}, {type: lamb, "
                                "learning_rate: 0.01}]"}) {
    check_resumes(kNetwork, runs, optimizer, 1e-4);
  }
}

TEST_CASE("what is not finite is named alike by all workers, whichever has it") {
  for (const std::string& state : {std::string(), kStates[0], kStates[2]}) {
    CAPTURE(state);
    std::vector<std::string> found(3);
    REQUIRE(run_workers(3, kNetwork, {replicas_on_cpus(1, state), "optimizer={type: adam, learning_rate: 0.01}"},
                        [&](int worker, Training& training) {
                          const CheckpointNames names{training.checked.model->slot_names()};
                          CHECK_FALSE(first_non_finite(*training.strategy, names, training.state));
                          training.steps(2);
                          training.strategy->change_variables(Lasting::kSlots, [](const LastingVariable& variable) {
                            if (variable.value.name() != "dense_1/kernel") return;
                            auto* const slot = reinterpret_cast<float*>(variable.slots[1].data(0));
                            slot[variable.value.shape().elements() - 1] = std::numeric_limits<float>::quiet_NaN();
                          });
                          const auto name = first_non_finite(*training.strategy, names, training.state);
                          found[static_cast<std::size_t>(worker)] = name.value_or("nothing");
                        }) == "no error");
    CHECK(found == std::vector<std::string>(3, "the optimizer's velocity of dense_1/kernel"));
  }
}

}  // namespace
}  // namespace mirrortrain
