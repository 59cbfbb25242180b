// Training on devices with memory of their own gives what training on CPUs gives.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "error_text.h"
#include "gpus_under_test.h"
#include "train/checkpoint.h"
#include "training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

doctest::Approx near(double loss) { return doctest::Approx(loss).epsilon(testing::tolerance().losses); }

const char* const kNetwork = R"(
seed: 4
training: {tf32: false}
data:
  global_batch_size: 6
  shuffle: true
  train: {format: synthetic, examples: 20, shape: [6, 6, 2], classes: 3, seed: 5}
  preprocessing:
    - normalization: {mean: [0.1, 0.2], variance: [0.5, 2]}
model:
  input_shape: [6, 6, 2]
  layers:
    - conv2d: {filters: 3, kernel_size: 3, padding: same, use_bias: false, kernel_regularizer: {l1: 0.001, l2: 0.01}}
    - batch_normalization: {momentum: 0.8}
    - activation: {activation: relu}
    - max_pooling2d: {pool_size: 2}
    - dropout: {rate: 0.3}
    - flatten: {}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
)";

std::string strategy_of(const std::string& kind, int replicas) {
  std::string devices;
  for (int i = 0; i < replicas; ++i) {
    devices += fmt::format("{}{}:{}", i == 0 ? "" : ",", kind, kind == "cpu" ? i : 0);
  }
  return fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1}}", devices);
}

/// On replicas of CPUs, and on as many of one GPU.
struct Twins {
  Training on_cpus, on_gpu;

  Twins(const char* text, Overrides overrides, int replicas)
      : on_cpus(text, with(overrides, "cpu", replicas)),
        on_gpu(text, with(overrides, "cuda", replicas), testing::gpus_under_test(1)) {}

  static Overrides with(Overrides overrides, const std::string& kind, int replicas) {
    overrides.push_back(strategy_of(kind, replicas));
    return overrides;
  }

  void check_equal(int steps) {
    const auto expected = on_cpus.steps(steps), found = on_gpu.steps(steps);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
    for (int r = 0; r < on_cpus.strategy->num_replicas_in_sync(); ++r) {
      CHECK(difference(on_cpus.variables(r), on_gpu.variables(r)) < testing::tolerance().variables);
    }
  }
};

TEST_CASE("a network trains on a GPU's replicas as on the CPU's") {
  for (const int replicas : {1, 2, 4}) {
    CAPTURE(replicas);
    Twins(kNetwork, {}, replicas).check_equal(9);
  }
}

TEST_CASE("aggregations, clipping and accumulation mean the same there") {
  for (const char* aggregation : {"mean", "sum", "none", "only_first_replica"}) {
    for (const char* gradients : {"{}", "{clip_norm: 0.5}", "{accumulate_steps: 2, clip_norm: 0.4}",
                                  "{accumulate_steps: 3}", "{clip_value: 0.05}"}) {
      CAPTURE(aggregation);
      CAPTURE(gradients);
      Twins(kMlp,
            {"training.tf32=false", fmt::format("variables=[{{match: \"dense/*\", aggregation: {}}}]", aggregation),
             fmt::format("gradients={}", gradients)},
            3)
          .check_equal(7);
    }
  }
}

TEST_CASE("moving statistics follow their rules there") {
  for (const char* policy :
       {"synchronization: on_read, aggregation: mean", "synchronization: on_write, aggregation: mean",
        "synchronization: on_write, aggregation: sum", "synchronization: on_write, aggregation: only_first_replica",
        "synchronization: none, aggregation: none"}) {
    CAPTURE(policy);
    Twins twins(kNetwork, {fmt::format("variables=[{{match: \"*/moving_*\", {}}}]", policy)}, 2);
    twins.check_equal(5);
    const Sums expected = evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6);
    const Sums found = evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6);
    CHECK(found.loss == near(expected.loss));
    CHECK(found.metrics == expected.metrics);
    twins.check_equal(2);  // evaluation left nothing behind
  }
}

TEST_CASE("steps that are on their way, captured or not, from either memory end as those that are waited for") {
  const auto trained = [](const char* cache, const char* graph, std::uint64_t seed, bool waits) {
    Training training(
        kNetwork,
        {fmt::format("data.cache={}", cache), fmt::format("training={{tf32: false, cuda_graph: {}}}", graph),
         "gradients.accumulate_steps=2", strategy_of("cuda", 2)},
        testing::gpus_under_test(1, seed));
    const auto losses = waits ? training.steps(12) : training.steps_in_flight(12);
    evaluate_all(*training.strategy, training.examples(), 6);
    return std::pair(losses, training.variables());
  };
  const auto reference = trained("device", "never", 1, true);
  for (const std::uint64_t seed : {2u, 3u, 4u}) {
    for (const char* graph : {"auto", "never"}) {
      CHECK(trained("device", graph, seed, false) == reference);
      CHECK(trained("host", graph, seed, false) == reference);
    }
  }
}

TEST_CASE("many steps in one piece are the same steps") {
  const auto trained = [](const char* graph, bool waits) {
    Training training(
        kNetwork,
        {fmt::format("training={{tf32: false, cuda_graph: {}}}", graph), "data.drop_remainder=true",
         "state=[{name: total, synchronization: on_read, aggregation: sum, assign_add: 1}]", strategy_of("cuda", 2)},
        testing::gpus_under_test(1));
    std::vector<double> losses;
    // Whole rings, a ring cut short, and an evaluation between.
    for (const int steps : {70, 37, 3}) {
      const auto part = waits ? training.steps(steps) : training.steps_in_flight(steps);
      losses.insert(losses.end(), part.begin(), part.end());
      losses.push_back(evaluate_all(*training.strategy, training.examples(), 6).loss);
    }
    CHECK(training.strategy->state().readings()[0].value == report::StateReading::Number{std::int64_t{2 * 110}});
    return std::pair(losses, training.variables());
  };
  CHECK(trained("auto", false) == trained("never", true));
}

TEST_CASE("several GPUs train as one, whatever adds across them") {
  if (!testing::has_gpus(4)) return;
  for (const char* ops : {"auto", "nccl", "ring", "hierarchical_copy", "reduction_to_one_device"}) {
    for (const char* devices :
         {"[cuda:0, cuda:1, cuda:2, cuda:3]", "[cuda:0, cuda:1]", "[cuda:1, cuda:0, cuda:1, cuda:0]"}) {
      for (const char* pack : {"0", "100"}) {
        CAPTURE(ops);
        CAPTURE(devices);
        Training reference(kNetwork, {strategy_of("cuda", 4)}, testing::gpus_under_test(1));
        Training several(kNetwork,
                         {fmt::format("strategy={{type: mirrored, devices: {}, replicas: 4, cross_device_ops: {}, "
                                      "communication: {{bytes_per_pack: {}}}}}",
                                      devices, ops, pack)},
                         testing::gpus_under_test(4));
        const auto expected = reference.steps(7), found = several.steps_in_flight(7);
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
        for (int r = 0; r < 4; ++r)
          CHECK(difference(reference.variables(r), several.variables(r)) < testing::tolerance().variables);
        CHECK(evaluate_all(*several.strategy, several.examples(), 6).loss ==
              near(evaluate_all(*reference.strategy, reference.examples(), 6).loss));
      }
    }
  }
}

TEST_CASE("policies, clipping and state mean the same on several GPUs") {
  if (!testing::has_gpus(2)) return;
  for (const char* policy :
       {"aggregation: mean", "aggregation: sum", "aggregation: none", "aggregation: only_first_replica"}) {
    for (const char* gradients : {"{clip_value: 0.05}", "{accumulate_steps: 2}", "{clip_norm: 0.4}"}) {
      const bool refused = std::string(policy) == "aggregation: none" && std::string(gradients) == "{clip_norm: 0.4}";
      CAPTURE(policy);
      CAPTURE(gradients);
      const Overrides common = {
          fmt::format("variables=[{{match: \"*/moving_*\", synchronization: on_write, {0}}}, {{match: "
                      "\"*/*\", {0}}}]",
                      policy),
          fmt::format("gradients={}", gradients),
          "state=[{name: total, synchronization: on_read, aggregation: sum, assign_add: 1}]"};
      Overrides on_two = common, on_cpus = common;
      on_two.emplace_back("strategy={type: mirrored, devices: [cuda:0, cuda:1], replicas: 4}");
      on_cpus.push_back(strategy_of("cpu", 4));
      if (refused) {
        CHECK_THROWS_AS(Training(kNetwork, on_two, testing::gpus_under_test(2)), UsageError);
        continue;
      }
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

TEST_CASE("where memory is short, the run says for what and which batch would fit") {
  if (!testing::memory_can_be_chosen()) return;
  const auto error_with = [](std::size_t bytes, const Overrides& more) -> std::string {
    Overrides overrides = more;
    overrides.insert(overrides.end(), {"data.train={format: synthetic, examples: 4000, shape: [6, 6, 2], classes: 3}",
                                       "data.global_batch_size=1000", strategy_of("cuda", 1)});
    try {
      Training(kNetwork, overrides, testing::gpu_with(bytes));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_with(std::size_t{64} << 20, {}) == "");
  CHECK(contains(error_with(1'200'000, {}), "cuda:0: not enough memory: a global batch of 1000 wants"));
  CHECK(contains(error_with(1'200'000, {}), "a global batch of about"));
  CHECK(contains(error_with(2000, {}), "the variables with gradients and optimizer slots: no memory for"));
  CHECK(contains(error_with(500'000, {"data.cache=device"}), "data.cache: "));
}

/// A rank that takes part in some sums and then fails.
class FailingRank : public Communicator {
 public:
  FailingRank(Communicator& rank, int sums) : rank_(rank), sums_(sums) {}

  int rank() const override { return rank_.rank(); }
  int size() const override { return rank_.size(); }
  bool capturable() const override { return rank_.capturable(); }
  void all_reduce(Stream& stream, Elements from, Elements to) override {
    if (sums_-- == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the other's stream waits by then
      throw Error("this rank fails");
    }
    rank_.all_reduce(stream, from, to);
  }
  void reduce_scatter(Stream& stream, Elements elements) override { rank_.reduce_scatter(stream, elements); }
  void all_gather(Stream& stream, Elements elements) override { rank_.all_gather(stream, elements); }
  void broadcast(Stream& stream, Elements elements, int root) override { rank_.broadcast(stream, elements, root); }
  void check() override { rank_.check(); }
  void synchronize(Stream& stream) override { rank_.synchronize(stream); }
  void abort(const std::string& reason) override { rank_.abort(reason); }

 private:
  Communicator& rank_;
  int sums_;
};

TEST_CASE("where a GPU's lane fails, the others do not wait for it for ever") {
  if (!testing::has_gpus(2)) return;
  Hardware hardware = testing::gpus_under_test(2);
  hardware.communicators = [whole = hardware.communicators](const Placement& placement, const StrategyOptions& options,
                                                            AggregationMethod method, std::span<Device* const> gpus) {
    struct Owned {
      std::shared_ptr<void> group;
      FailingRank rank;
    };
    Communicators made = whole(placement, options, method, gpus);
    const auto owned = std::make_shared<Owned>(Owned{made.owner, {*made.ranks[1], 10}});
    made.ranks[1] = &owned->rank;
    made.owner = owned;
    return made;
  };
  Training training(kNetwork,
                    {"strategy={type: mirrored, devices: [cuda:0, cuda:1], communication: {timeout_seconds: 0}}"},
                    hardware);
  CHECK_THROWS_WITH_AS(training.steps_in_flight(12), doctest::Contains("this rank fails"), Error);
}

TEST_CASE("a checkpoint moves between GPUs and CPUs") {
  const auto checkpoints_of = [](const Training& training, const std::filesystem::path& folder) {
    return Checkpoints(folder, *training.strategy, {{"m", "v"}, training.checked.model->metric_names}, 0);
  };
  const Overrides gpu = {strategy_of("cuda", 2), "gradients.accumulate_steps=2"};
  const Overrides cpu = {strategy_of("cpu", 2), "gradients.accumulate_steps=2"};
  const Hardware hardware = testing::gpus_under_test(1);
  Training whole(kNetwork, gpu, hardware), first(kNetwork, gpu, hardware), second(kNetwork, gpu, hardware);
  const auto losses = whole.steps(8);
  first.steps(5);
  checkpoints_of(first, first.folder()).save(first.state, 1);
  second.steps(2);
  second.seek(checkpoints_of(second, first.folder()).restore().value());
  CHECK(second.steps(3) == std::vector(losses.begin() + 5, losses.end()));
  for (const int replica : {0, 1}) CHECK(second.variables(replica) == whole.variables(replica));

  Training on_cpus(kNetwork, cpu);
  on_cpus.seek(checkpoints_of(on_cpus, first.folder()).restore().value());
  const auto found = on_cpus.steps(3);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == near(losses[5 + i]));
}

}  // namespace
}  // namespace mirrortrain
