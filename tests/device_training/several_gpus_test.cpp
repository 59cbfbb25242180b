// Training across GPUs gives what training on one gives.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "base/error.h"
#include "collective/forwarding_rank.h"
#include "error_text.h"
#include "every_pair.h"
#include "network.h"
#include "skip.h"
#include "train/checkpoint/checkpoint.h"
#include "train/masked_sequences.h"
#include "train/trainer.h"
#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

/// What a training on one GPU gave, to compare others with.
struct Expected {
  std::vector<double> losses;
  std::vector<std::map<std::string, std::vector<float>>> variables;  ///< by replica
  double evaluated = 0;
};

using Texts = std::vector<std::string>;

std::int64_t batch_of(const Training& training) { return training.checked.values().data.global_batch_size; }

Expected on_one_gpu(const char* network, int replicas, int steps, Overrides overrides = {}) {
  overrides.push_back(strategy_of("cuda", replicas));
  Training one(network, overrides, testing::gpus_under_test(1));
  Expected expected{one.steps(steps), {}, 0};
  for (int r = 0; r < replicas; ++r) expected.variables.push_back(one.variables(r));
  expected.evaluated = evaluate_all(*one.strategy, one.examples(), batch_of(one)).loss;
  return expected;
}

/// Trains in flight as many steps as were expected; `replicas` are compared, each with its own or with the one that
/// was expected.
void check_trains_as(const Expected& expected, Training& several, int replicas) {
  const auto found = several.steps_in_flight(static_cast<int>(expected.losses.size()));
  REQUIRE(found.size() == expected.losses.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == near(expected.losses[i]));
  for (int r = 0; r < replicas; ++r) {
    const auto& of_replica = expected.variables[expected.variables.size() == 1 ? 0 : static_cast<std::size_t>(r)];
    CHECK(difference(of_replica, several.variables(r)) < testing::tolerance().variables);
  }
  CHECK(several.strategy->differing_replicas() == "");
  CHECK(evaluate_all(*several.strategy, several.examples(), batch_of(several)).loss == near(expected.evaluated));
}

/// Four replicas.
std::string on_gpus(const std::string& devices, const std::string& ops, const std::string& bucket) {
  return fmt::format(
      "strategy={{type: mirrored, devices: {}, replicas: 4, cross_device_ops: {}, communication: {{bytes_per_pack: "
      "{}}}}}",
      devices, ops, bucket);
}

TEST_CASE("several GPUs train as one, whatever adds across them") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  const Expected expected = on_one_gpu(kNetwork, 4, 7);
  for (const auto& [ops, devices, bucket] : testing::every_pair(
           Texts{"auto", "nccl", "ring", "hierarchical_copy", "reduction_to_one_device"},
           Texts{"[cuda:0, cuda:1, cuda:2, cuda:3]", "[cuda:0, cuda:1]", "[cuda:1, cuda:0, cuda:1, cuda:0]"},
           Texts{"0", "100"})) {
    CAPTURE(ops);
    CAPTURE(devices);
    CAPTURE(bucket);
    Training several(kNetwork, {on_gpus(devices, ops, bucket)}, testing::gpus_under_test(4));
    check_trains_as(expected, several, 4);
  }
}

TEST_CASE("the statistics of the global batch are added across GPUs, whatever adds the gradients") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  const Expected expected = on_one_gpu(kSynchronized, 1, 8);
  for (const auto& [ops, devices, bucket] : testing::every_pair(
           Texts{"auto", "ring", "reduction_to_one_device"},
           Texts{"[cuda:0, cuda:1, cuda:2, cuda:3]", "[cuda:1, cuda:0]", "[cuda:0, cuda:0, cuda:1, cuda:2]"},
           Texts{"0", "100"})) {
    CAPTURE(ops);
    CAPTURE(devices);
    CAPTURE(bucket);
    Training several(kSynchronized, {on_gpus(devices, ops, bucket)}, testing::gpus_under_test(4));
    check_trains_as(expected, several, 4);
  }
}

TEST_CASE("what a mask leaves is counted over all GPUs, whatever adds the gradients") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  for (const std::string& lengths : Texts{"null", "{bucket_boundaries: [1, 3], group_by_length: true}"}) {
    Overrides overrides = masked_sequences();
    overrides.push_back(fmt::format("data.sequences={}", lengths));
    const Expected expected = on_one_gpu(kNetwork, 1, 8, overrides);
    for (const std::string& ops : Texts{"auto", "ring", "reduction_to_one_device"}) {
      CAPTURE(ops);
      CAPTURE(lengths);
      Overrides on_several = overrides;
      on_several.push_back(on_gpus("[cuda:0, cuda:1, cuda:2, cuda:3]", ops, "null"));
      Training several(kNetwork, on_several, testing::gpus_under_test(4));
      check_trains_as(expected, several, 4);
    }
  }
}

/// Six steps of `all`, one after another, and of `parts`, in flight, have the same losses, and leave the same variables
/// on each of their four replicas.
void check_trains_alike(Training& all, Training& parts) {
  const auto expected = all.steps(6), found = parts.steps_in_flight(6);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
  for (int r = 0; r < 4; ++r) {
    CHECK(difference(all.variables(r), parts.variables(r)) < testing::tolerance().variables);
  }
  CHECK(parts.strategy->differing_replicas() == "");
}

TEST_CASE("GPUs that each keep a part of the optimizer's state train as GPUs that keep all of it") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  for (const auto& [ops, devices, precision, gradients] : testing::every_pair(
           Texts{"auto", "ring", "reduction_to_one_device"},
           Texts{"[cuda:0, cuda:1, cuda:2, cuda:3]", "[cuda:1, cuda:0]", "[cuda:0, cuda:0, cuda:1, cuda:2]"},
           Texts{"float32", "mixed_bfloat16"}, Texts{"{}", "{clip_norm: 0.3, accumulate_steps: 2}"})) {
    CAPTURE(ops);
    CAPTURE(devices);
    CAPTURE(precision);
    CAPTURE(gradients);
    const auto on_four = [&](const char* state) {
      return Overrides{fmt::format("strategy={{type: mirrored, devices: {}, replicas: 4, cross_device_ops: {}, "
                                   "optimizer_state: {}, communication: {{bytes_per_pack: 100}}}}",
                                   devices, ops, state),
                       fmt::format("training.precision={}", precision), fmt::format("gradients={}", gradients),
                       "optimizer={type: adamw, learning_rate: 0.01, weight_decay: 0.1, use_ema: true}"};
    };
    Training all(kNetwork, on_four("replicated"), testing::gpus_under_test(4));
    Training parts(kNetwork, on_four("sharded"), testing::gpus_under_test(4));
    CHECK(contains(parts.strategy->note(), "optimizer_state: each GPU keeps and updates its 1/"));
    check_trains_alike(all, parts);
  }
}

TEST_CASE("GPUs that each own the state of whole variables train as GPUs that keep all of it") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  for (const std::string& ops : Texts{"auto", "ring"}) {
    for (const std::string& optimizer :
         Texts{"{type: lamb, learning_rate: 0.01}", "{type: adafactor, learning_rate: 0.1}"}) {
      CAPTURE(ops);
      CAPTURE(optimizer);
      const auto on_four = [&](const char* state) {
        return Overrides{fmt::format("strategy={{type: mirrored, devices: [cuda:0, cuda:1, cuda:2, cuda:3], replicas: "
                                     "4, cross_device_ops: {}, optimizer_state: {}}}",
                                     ops, state),
                         "gradients={clip_norm: 0.3}", fmt::format("optimizer={}", optimizer)};
      };
      Training all(kNetwork, on_four("replicated"), testing::gpus_under_test(4));
      Training parts(kNetwork, on_four("sharded"), testing::gpus_under_test(4));
      CHECK(contains(parts.strategy->note(), "updated as wholes"));
      check_trains_alike(all, parts);
    }
  }
}

TEST_CASE("GPUs that each keep a part of the weights train as GPUs that keep all of them") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  const std::vector<std::pair<bool, std::string>> places = {{true, "[cuda:0, cuda:1, cuda:2, cuda:3]"},
                                                            {true, "[cuda:1, cuda:0]"},
                                                            {false, "[cuda:0, cuda:1, cuda:2, cuda:3]"},
                                                            {false, "[cuda:1, cuda:0]"}};
  for (const auto& [place, precision, state] :
       testing::every_pair(places, Texts{"float32", "mixed_bfloat16"}, Texts{"sharded_gradients", "sharded_weights"})) {
    const auto& [has_nccl, devices] = place;
    CAPTURE(has_nccl);
    CAPTURE(devices);
    CAPTURE(precision);
    CAPTURE(state);
    const auto on_four = [&](const std::string& of) {
      return Overrides{
          fmt::format("strategy={{type: mirrored, devices: {}, replicas: 4, optimizer_state: {}}}", devices, of),
          fmt::format("training.precision={}", precision), "model.layers[0].conv2d.filters=64",
          "gradients={clip_norm: 0.3, accumulate_steps: 2}",
          "optimizer={type: adamw, learning_rate: 0.01, weight_decay: 0.1, use_ema: true}"};
    };
    Hardware hardware = testing::gpus_under_test(4);
    if (!has_nccl) hardware.why_no_nccl = [] { return std::string("no NCCL here"); };
    Training all(kNetwork, on_four("replicated"), hardware), parts(kNetwork, on_four(state), hardware);
    CHECK(contains(parts.strategy->note(), "variables are divided among the replicas"));
    const auto expected = all.steps(6), found = parts.steps_in_flight(6);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
    CHECK(difference(all.variables(), parts.variables()) < testing::tolerance().variables);
    CHECK(evaluate_all(*parts.strategy, parts.examples(), 6).loss ==
          near(evaluate_all(*all.strategy, all.examples(), 6).loss));
  }
}

constexpr const char* kAttention = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 6
  train: {format: synthetic, examples: 20, shape: [7, 9], classes: 3, seed: 5}
model:
  input_shape: [7, 9]
  layers:
    - dense: {units: 10, name: in}
    - multi_head_attention: {num_heads: 5, key_dim: 2, use_bias: false, kernel_regularizer: {l2: 0.01}}
    - add: {inputs: [in, multi_head_attention]}
    - layer_normalization
    - dense: {units: 13, activation: gelu, kernel_regularizer: {l1: 0.001}}
    - dense: {units: 10, kernel_constraint: {max_norm: {max_value: 0.9}}}
    - flatten
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adamw, learning_rate: 0.01, use_ema: true}
gradients: {clip_norm: 0.5}
)";

TEST_CASE("replicas whose places are on several GPUs train as on one") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  struct Placed {
    int data;
    const char *mesh, *devices;
  };
  const std::vector<Placed> all = {{1, "{data: 1, model: 2}", "[cuda:0, cuda:1]"},
                                   {2, "{data: 2, model: 2}", "[cuda:0, cuda:1, cuda:2, cuda:3]"},
                                   {1, "{data: 1, model: 4}", "[cuda:1, cuda:0]"},
                                   {1, "{data: 1, model: 3}", "[cuda:2, cuda:0, cuda:1]"},
                                   {2, "{data: 2, model: 2}", "[cuda:0, cuda:1]"}};
  std::map<std::pair<const char*, int>, Expected> of_one;  // by network and replicas
  const auto check = [&](const char* network, const Placed& placed, const char* state, bool has_nccl) {
    CAPTURE(std::string(placed.mesh));
    CAPTURE(std::string(placed.devices));
    CAPTURE(has_nccl);
    Hardware hardware = testing::gpus_under_test(4);
    if (!has_nccl) hardware.why_no_nccl = [] { return std::string("no NCCL here"); };
    const auto known = of_one.find({network, placed.data});
    const Expected& expected =
        known != of_one.end()
            ? known->second
            : of_one.emplace(std::pair(network, placed.data), on_one_gpu(network, placed.data, 4)).first->second;
    Training several(network,
                     {fmt::format("strategy={{type: mirrored, devices: {}, mesh: {}, optimizer_state: {}, "
                                  "communication: {{bytes_per_pack: 100}}}}",
                                  placed.devices, placed.mesh, state)},
                     hardware);
    check_trains_as(expected, several, placed.data);
  };
  for (const Placed& placed : all) {
    check(kNetwork, placed, "replicated", true);
    check(kAttention, placed, "sharded", false);
  }
  check(kCnn, all[0], "replicated", false);
  check(kCnn, all[1], "sharded", true);
  check(kAttention, all[1], "replicated", true);
  CHECK(contains(
      error_text([&] {
        Training(kCnn,
                 {"strategy={type: mirrored, devices: [cuda:0, cuda:1, cuda:0, cuda:2], mesh: {data: 2, model: 2}}"},
                 testing::gpus_under_test(4));
      }),
      "the 2 places of a replica have to be in one memory, or in several that have as many of them each"));
}

TEST_CASE("without NCCL, auto adds across GPUs by copies") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  Hardware hardware = testing::gpus_under_test(2);
  hardware.why_no_nccl = [] { return std::string("no NCCL here"); };
  const Overrides on_two = {"strategy={type: mirrored, devices: [cuda:0, cuda:1]}"};
  Training copies(kNetwork, on_two, hardware), usual(kNetwork, on_two, testing::gpus_under_test(2));
  CHECK(copies.strategy->note() ==
        "cross_device_ops: auto selected ring, which adds across 2 GPUs by copies (no NCCL here); 1 gradient bucket");
  CHECK(usual.strategy->note() == "cross_device_ops: auto selected nccl, which adds across 2 GPUs; 1 gradient bucket");
  const auto expected = usual.steps(3), found = copies.steps(3);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
}

TEST_CASE("compressed gradients train nearly as others do on several GPUs, whether or not steps are in flight") {
  if (testing::skip_without(testing::has_gpus(4), "4 GPUs")) return;
  const Expected exact = on_one_gpu(kNetwork, 4, 7);
  for (const char* devices :
       {"[cuda:0, cuda:1, cuda:2, cuda:3]", "[cuda:1, cuda:0]", "[cuda:0, cuda:0, cuda:1, cuda:2]"}) {
    for (const char* bucket : {"0", "100"}) {
      CAPTURE(devices);
      CAPTURE(bucket);
      const Overrides compressed = {
          fmt::format("strategy={{type: mirrored, devices: {}, replicas: 4, communication: {{bytes_per_pack: {}, "
                      "compression: bfloat16}}}}",
                      devices, bucket)};
      Training waits(kNetwork, compressed, testing::gpus_under_test(4));
      Training several(kNetwork, compressed, testing::gpus_under_test(4));
      CHECK(contains(several.strategy->note(), "as bfloat16 with error feedback"));
      CHECK(waits.steps(7) == several.steps_in_flight(7));
      for (int r = 0; r < 4; ++r) {
        CHECK(waits.variables(r) == several.variables(r));
        CHECK(difference(exact.variables[static_cast<std::size_t>(r)], several.variables(r)) < 1e-2);
      }
      CHECK(exact.variables[0] != several.variables(0));
      CHECK(several.strategy->differing_replicas() == "");
    }
  }
}

TEST_CASE("policies, clipping and state mean the same on several GPUs") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  constexpr const char* kEvery = "*/*";
  for (const auto& [match, policy] : {std::pair(kEvery, "aggregation: mean"),
                                      {kEvery, "aggregation: sum"},
                                      {kEvery, "aggregation: none"},
                                      {kEvery, "aggregation: only_first_replica"},
                                      {"*/kernel", "aggregation: none"}}) {
    for (const char* gradients :
         {"{clip_value: 0.05}", "{accumulate_steps: 2}", "{clip_norm: 0.4}", "{clip_norm: 0.1, accumulate_steps: 2}"}) {
      CAPTURE(match);
      CAPTURE(policy);
      CAPTURE(gradients);
      const Overrides common = {
          fmt::format("variables=[{{match: \"*/moving_*\", synchronization: on_write, {1}}}, {{match: "
                      "\"{0}\", {1}}}]",
                      match, policy),
          fmt::format("gradients={}", gradients),
          "state=[{name: total, synchronization: on_read, aggregation: sum, assign_add: 1}]"};
      Overrides on_two = common, on_cpus = common;
      on_two.emplace_back("strategy={type: mirrored, devices: [cuda:0, cuda:1], replicas: 4}");
      on_cpus.push_back(strategy_of("cpu", 4));
      Training expected(kNetwork, on_cpus), found(kNetwork, on_two, testing::gpus_under_test(2));
      const auto losses = expected.steps(6), of_two = found.steps_in_flight(6);
      for (std::size_t i = 0; i < losses.size(); ++i) CHECK(of_two[i] == near(losses[i]));
      for (int r = 0; r < 4; ++r)
        CHECK(difference(expected.variables(r), found.variables(r)) < testing::tolerance().variables);
      CHECK(evaluate_all(*found.strategy, found.examples(), 6).loss ==
            near(evaluate_all(*expected.strategy, expected.examples(), 6).loss));
      CHECK(found.strategy->state().readings()[0].value == expected.strategy->state().readings()[0].value);
    }
  }
}

/// A rank that takes part in some sums, and then comes to none for a while and fails.
class FailingRank : public testing::ForwardingRank {
 public:
  FailingRank(Communicator& rank, int sums, std::chrono::milliseconds silence)
      : ForwardingRank(rank), sums_(sums), silence_(silence) {}

  void all_reduce(Stream& stream, Elements elements) override {
    if (sums_-- == 0) {
      std::this_thread::sleep_for(silence_);  // the other waits by then
      throw Error("this rank fails");
    }
    ForwardingRank::all_reduce(stream, elements);
  }

 private:
  int sums_;
  std::chrono::milliseconds silence_;
};

/// Two GPUs, of which the second takes part in some sums.
Hardware with_failing_rank(int sums, std::chrono::milliseconds silence = std::chrono::milliseconds(100)) {
  Hardware hardware = testing::gpus_under_test(2);
  hardware.communicators = [sums, silence, whole = hardware.communicators](
                               const Topology& topology, const StrategyOptions& options, const ReductionChoice& choice,
                               const Backend& backend, std::span<Device* const> gpus) {
    struct Owned {
      std::shared_ptr<void> group;
      FailingRank rank;
    };
    RunCommunicators made = whole(topology, options, choice, backend, gpus);
    Communicators& domains = made.along_data;
    const auto owned = std::make_shared<Owned>(Owned{domains.owner, {*domains.ranks[1], sums, silence}});
    domains.ranks[1] = &owned->rank;
    domains.owner = owned;
    return made;
  };
  return hardware;
}

constexpr const char* kNoTimeout =
    "strategy={type: mirrored, devices: [cuda:0, cuda:1], communication: {timeout_seconds: 0}}";

std::string on_two_gpus(const char* operation, double timeout_seconds) {
  return fmt::format(
      "strategy={{type: mirrored, devices: [cuda:0, cuda:1], cross_device_ops: {}, communication: {{timeout_seconds: "
      "{}, bytes_per_pack: 100}}}}",
      operation, timeout_seconds);
}

TEST_CASE("where a GPU's lane fails, the others do not wait for it indefinitely") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  for (const char* const operation : {"nccl", "ring"}) {
    INFO(operation);
    Training training(kNetwork, {on_two_gpus(operation, 0)}, with_failing_rank(10));
    CHECK_THROWS_WITH_AS(training.steps_in_flight(12), doctest::Contains("this rank fails"), Error);
  }
}

TEST_CASE("where a GPU fails as the GPUs connect for the first step's sums, the others do not wait for it") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  for (const int sums : {0, 1, 2}) {  // of the first, small one and three buckets
    CHECK_THROWS_WITH_AS(Training(kNetwork, {on_two_gpus("ring", 0)}, with_failing_rank(sums)),
                         doctest::Contains("this rank fails"), Error);
  }
}

TEST_CASE("where a GPU's lane does not come, the error names rank, GPU and bucket of one that waits") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  Training training(kNetwork, {on_two_gpus("ring", 1)}, with_failing_rank(10, std::chrono::milliseconds(2000)));
  std::string message;
  try {
    training.steps_in_flight(12);
  } catch (const Error& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.starts_with("waited 1 seconds"));
  CHECK(message.find("rank 0 (cuda:0) was in all_reduce of ") != std::string::npos);
  CHECK(message.find(" float32 elements (bucket ") != std::string::npos);
  CHECK(message.find(", gradients of ") != std::string::npos);
}

TEST_CASE("where a GPU fails, the error names the last checkpoint") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  for (const auto& [sums, expected] :
       {std::pair(2, "no checkpoint was saved yet"), std::pair(40, "from which `fit --resume` continues")}) {
    Training training(kNetwork, {kNoTimeout}, with_failing_rank(sums));
    const data::DataOptions& data = training.checked.values().data;
    Checkpoints checkpoints(training.folder() / "checkpoints", *training.strategy,
                            {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
    TrainerOptions options;
    options.steps = 100;
    options.checkpoint_every_steps = 1;
    options.batch_size = data.global_batch_size;
    const auto stop = [](std::int64_t) { return 0; };
    Trainer trainer(
        *training.strategy, training.training_steps(), *training.checked.model, nullptr, checkpoints, options,
        [](const report::Event&) {}, stop);
    CHECK_THROWS_WITH_AS(trainer.run({}), "this rank fails", Error);
    CHECK(checkpoints.how_to_resume(trainer.state().step).find(expected) != std::string::npos);
  }
}

TEST_CASE("verify compares replicas on the configuration's GPUs, as many as divide them") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  const std::string layers = "model.layers=[{flatten: {}}, {dense: {units: 7, activation: relu}}, {dense: {units: 3}}]";
  const Training training(kNetwork, {"strategy={type: mirrored, devices: [cuda:0, cuda:1]}", layers},
                          testing::gpus_under_test(2));
  Hardware hardware = testing::gpus_under_test(2);
  std::vector<std::size_t> gpus;
  hardware.backend = [&gpus, make = hardware.backend](const Topology& topology, const TrainingOptions& options) {
    CHECK(topology.on_gpus());
    gpus.push_back(topology.lanes.size());
    return make(topology, options);
  };
  CHECK(verify_replicas(training.checked, {2, 3, 4}, 3, hardware).largest() < 1e-4);
  CHECK(gpus == std::vector<std::size_t>{1, 1, 2, 1, 2});  // the first: whose gradient is rounding alone
}

}  // namespace
}  // namespace mirrortrain
