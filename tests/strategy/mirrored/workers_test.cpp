// Several workers train as one machine does: each is a thread here, with a memory domain of its own and a communicator
// of threads between them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "collective/thread_group.h"
#include "error_text.h"
#include "every_pair.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/mirrored/worker_threads.h"
#include "train/checkpoint/checkpoint.h"
#include "train/masked_sequences.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using testing::as_worker;
using testing::replicas_on_cpus;
using testing::run_workers;
using Overrides = std::vector<std::string>;

/// Moving statistics, dropout, regularization, and batches that leave the last replicas without examples.
constexpr const char* kNetwork = R"(
seed: 3
data:
  global_batch_size: 10
  shuffle: true
  train: {format: synthetic, examples: 33, shape: [6], classes: 3, seed: 5}
model:
  input_shape: [6]
  layers:
    - dense: {units: 7, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - batch_normalization: {momentum: 0.5}
    - dropout: {rate: 0.2}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
)";

/// What a worker's training gave: of every replica of the run, on every worker.
struct Result {
  std::vector<double> losses;
  std::vector<std::map<std::string, std::vector<float>>> variables;
  std::optional<StepSums> evaluation;

  Result(Training& training, int steps) {
    losses = training.steps(steps);
    for (int r = 0; r < training.strategy->num_replicas_in_sync(); ++r) variables.push_back(training.variables(r));
    evaluation =
        evaluate_all(*training.strategy, training.examples(), training.checked.values().data.global_batch_size);
  }
};

/// Trains on `workers` workers of `replicas_each` replicas and checks each worker's result against one machine with as
/// many replicas: the same bits, or as near as another order of sums is.
void check_against_one_machine(int workers, int replicas_each, const std::string& strategy_options,
                               const Overrides& more, bool same_bits, double tolerance = 2e-6) {
  Overrides on_one = more, on_several = more;
  on_one.push_back(replicas_on_cpus(workers * replicas_each, strategy_options, "mirrored"));
  on_several.push_back(replicas_on_cpus(replicas_each, strategy_options));
  Training one_machine(kNetwork, on_one);
  const int steps = same_bits ? 9 : 4;  // an epoch, the short last batch included: rounding grows from step to step
  const Result expected(one_machine, steps);
  std::vector<std::optional<Result>> found(static_cast<std::size_t>(workers));
  REQUIRE(run_workers(workers, kNetwork, on_several, [&](int worker, Training& training) {
            found[static_cast<std::size_t>(worker)].emplace(training, steps);
          }) == "no error");
  for (const auto& result : found) {
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
      CHECK(result->losses[i] == doctest::Approx(expected.losses[i]).epsilon(1e-6));
    }
    CHECK(result->evaluation->examples == expected.evaluation->examples);
    CHECK(result->evaluation->loss == doctest::Approx(expected.evaluation->loss).epsilon(1e-6));
    CHECK(result->evaluation->metrics == expected.evaluation->metrics);
    for (std::size_t r = 0; r < expected.variables.size(); ++r) {
      CAPTURE(r);
      if (same_bits) {
        for (const auto& [name, values] : expected.variables[r]) {
          CAPTURE(name);
          CHECK(result->variables[r].at(name) == values);
        }
      } else {
        CHECK(difference(expected.variables[r], result->variables[r]) < tolerance);
      }
    }
  }
}

TEST_CASE("reduced inside, then across, two workers of two lanes train as four replicas on one machine") {
  for (const char* bytes : {"0", "100"}) {
    CAPTURE(std::string(bytes));
    check_against_one_machine(2, 2, fmt::format(", communication: {{bytes_per_pack: {}}}", bytes), {}, false);
  }
}

TEST_CASE("replicas of two places each train on two workers as on one machine") {
  for (const Overrides& more :
       {Overrides{}, Overrides{"gradients.clip_norm=0.1"}, Overrides{"gradients.accumulate_steps=2"},
        Overrides{"variables=[{match: \"*/moving_*\", synchronization: on_write}]"}}) {
    check_against_one_machine(2, 2, ", mesh: {data: 2, model: 2}", more, true);
  }
}

TEST_CASE("replicas whose places are on several workers train as on one machine") {
  struct Placed {
    int workers, each;
    const char* mesh;
  };
  const Placed places[] = {{2, 1, ", mesh: {data: 1, model: 2}"},
                           {4, 1, ", mesh: {data: 2, model: 2}"},
                           {2, 2, ", mesh: {data: 1, model: 4}"},
                           {6, 1, ", mesh: {data: 2, model: 3}"}};
  std::size_t variant = 0;
  for (const Overrides& more :
       {Overrides{}, Overrides{"optimizer={type: adamw, learning_rate: 0.01, use_ema: true, ema_momentum: 0.8}"},
        Overrides{"gradients={clip_norm: 0.1, accumulate_steps: 2}"}, Overrides{"training.on_non_finite=skip"},
        Overrides{"variables=[{match: \"*/moving_*\", synchronization: on_write}]"},
        Overrides{"variables=[{match: \"dense_1/*\", aggregation: none}]", "gradients.clip_norm=0.1"},
        Overrides{"model.layers[1].batch_normalization.synchronized=true",
                  "model.layers[0].dense.kernel_constraint={max_norm: {max_value: 0.5}}"}}) {
    CAPTURE(more.empty() ? std::string("sgd") : more.front());
    for (std::size_t i = 0; i < std::size(places); ++i) {
      if (!testing::is_long() && (variant + i / 2) % 2 == 1)
        continue;  // one replica and two, on every other pair of places
      check_against_one_machine(places[i].workers, places[i].each, places[i].mesh, more, true);
    }
    ++variant;
  }
  // Sharded over the workers that have the same parts.
  for (const Overrides& more : {Overrides{"optimizer={type: adam, learning_rate: 0.01}"},
                                Overrides{"gradients={clip_norm: 0.1, accumulate_steps: 2}"}}) {
    check_against_one_machine(4, 1, ", mesh: {data: 2, model: 2}, optimizer_state: sharded", more, false);
    check_against_one_machine(6, 1, ", mesh: {data: 3, model: 2}, optimizer_state: sharded", more, false);
  }
  CHECK(contains(run_workers(3, kNetwork, {replicas_on_cpus(2, ", mesh: {data: 2, model: 3}")}, [](int, Training&) {}),
                 "a replica's 3 have to be on one worker, or on several that have no other"));
}

TEST_CASE("each of several workers has its places' parts of the weights, gradients and slots alone") {
  const auto bytes_with = [](int workers, const char* mesh) {
    std::size_t bytes = 0;
    REQUIRE(run_workers(workers, kNetwork,
                        {replicas_on_cpus(1, mesh), "model.layers[0].dense.units=1000",
                         "optimizer={type: adam, learning_rate: 0.01}"},
                        [&](int worker, Training& training) {
                          if (worker == 1) bytes = training.strategy->memory().variables;
                        }) == "no error");
    return static_cast<double>(bytes);
  };
  const double whole = bytes_with(2, "");
  for (const int parts : {2, 4}) {
    const double part = bytes_with(parts, fmt::format(", mesh: {{data: 1, model: {}}}", parts).c_str());
    CHECK(part == doctest::Approx(whole / parts).epsilon(0.02));
  }
}

TEST_CASE("classes and examples count by their weights on workers as on one machine") {
  const TemporaryFolder folder;
  std::string rows = "a,b,c,d,e,f,w,y\n";
  for (int i = 0; i < 33; ++i) {
    for (int column = 0; column < 6; ++column) rows += fmt::format("{},", (i * (3 + column)) % 7 * 0.3 - 1);
    rows += fmt::format("{},{}\n", 0.3 * (i % 11), i % 3);
  }
  write_file(folder / "a.csv", rows);
  const std::string weighted[] = {
      "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: {0: 4, 2: 0.25}}",
      fmt::format("data.train={{format: csv, file: {}, labels: y, weights: w}}", (folder / "a.csv").string())};
  for (const std::string& key : weighted) {
    CAPTURE(key);
    check_against_one_machine(2, 2, ", cross_device_ops: reduction_to_one_device", {key}, true);
    check_against_one_machine(3, 1, ", cross_device_ops: reduction_to_one_device",
                              {key, "gradients={accumulate_steps: 2, clip_norm: 0.3}"}, true);
    check_against_one_machine(2, 2, "", {key}, false, 4e-6);
  }
}

/// Two workers of two replicas each train; worker 1's copy of a variable gets another last bit.
TEST_CASE("a flipped bit in one worker's variables is found and named on every worker") {
  for (const char* name : {"dense/kernel", "batch_normalization/gamma"}) {
    CAPTURE(std::string(name));
    std::vector<std::string> sound(2), flipped(2), later(2);
    REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(2), "training.epochs=1"}, [&](int worker, Training& training) {
              const auto index = static_cast<std::size_t>(worker);
              training.steps(2);
              sound[index] = training.strategy->differing_replicas();
              const auto& strategy = dynamic_cast<const MirroredStrategy&>(*training.strategy);
              const auto& variables = strategy.memory_domains()[0]->variables.variables();
              const auto variable = std::ranges::find(variables, name, &DistributedVariable::name);
              REQUIRE(variable != variables.end());
              if (worker == 1) variable->data(0)[12] ^= std::byte{1};
              flipped[index] = training.strategy->differing_replicas();
              training.steps(2);
              later[index] = training.strategy->differing_replicas();
            }) == "no error");
    for (int worker : {0, 1}) {
      const auto index = static_cast<std::size_t>(worker);
      CHECK(sound[index] == "");
      CHECK(flipped[index] == std::string(name) + ": replicas 0, 1 and replicas 2, 3 have different values");
      CHECK(later[index].ends_with("replicas 0, 1 and replicas 2, 3 have different values"));
    }
  }
}

TEST_CASE("across workers reduction_to_one_device gives the same bits as on one machine, by every method") {
  for (const char* method : {"add_n", "tree", "accumulate_n"}) {
    for (const char* bytes : {"0", "100"}) {
      CAPTURE(std::string(method));
      CAPTURE(std::string(bytes));
      check_against_one_machine(
          2, 2,
          fmt::format(", cross_device_ops: reduction_to_one_device, communication: {{bytes_per_pack: {}}}", bytes),
          {fmt::format("gradients.aggregation_method={}", method)}, true);
    }
  }
  check_against_one_machine(3, 1, ", cross_device_ops: reduction_to_one_device", {}, true);
  for (const char* aggregation : {"mean", "only_first_replica"}) {
    CAPTURE(std::string(aggregation));
    check_against_one_machine(
        2, 2, ", cross_device_ops: reduction_to_one_device",
        {fmt::format("variables=[{{match: \"*/moving_*\", synchronization: on_write, aggregation: {}}}]", aggregation)},
        true);
  }
}

TEST_CASE("the statistics of the global batch are those of all workers' replicas") {
  // Nothing may only shift a normalization's input: its gradient, and the mean of what is centered, are rounding alone.
  const Overrides synchronized = {
      "model.layers=[{dense: {units: 7, activation: tanh}}, {batch_normalization: {momentum: 0.5, synchronized: "
      "true}}, "
      "{dense: {units: 5, activation: tanh}}, {batch_normalization: {synchronized: true, center: false}}, "
      "{dense: {units: 3}}]"};
  check_against_one_machine(2, 2, ", cross_device_ops: reduction_to_one_device", synchronized, true);
  for (const char* bytes : {"0", "100"}) {
    CAPTURE(std::string(bytes));
    const std::string options = fmt::format(", communication: {{bytes_per_pack: {}}}", bytes);
    check_against_one_machine(2, 2, options, synchronized, false, 1e-5);
    check_against_one_machine(3, 1, options, synchronized, false, 1e-5);
  }
}

TEST_CASE("what counts is counted over the words of all workers' replicas") {
  check_against_one_machine(2, 2, ", cross_device_ops: reduction_to_one_device", masked_sequences(), true);
  check_against_one_machine(3, 1, "", masked_sequences(), false, 1e-5);
}

TEST_CASE("batches of short sequences are the same for all workers") {
  Overrides grouped = masked_sequences();
  grouped.emplace_back("data.sequences={bucket_boundaries: [1, 3], group_by_length: true}");
  check_against_one_machine(2, 2, ", cross_device_ops: reduction_to_one_device", grouped, true);
  check_against_one_machine(3, 1, "", grouped, false, 1e-5);
}

TEST_CASE("policies, clipping, accumulation and state mean the same across workers") {
  for (const char* aggregation : {"sum", "none", "only_first_replica"}) {
    for (const char* gradients : {"{clip_value: 0.05}", "{clip_norm: 0.1, accumulate_steps: 2}"}) {
      CAPTURE(aggregation);
      CAPTURE(gradients);
      check_against_one_machine(
          2, 2, "",
          {fmt::format("variables=[{{match: \"*/moving_*\", synchronization: on_write, aggregation: {0}}}, {{match: "
                       "\"*/kernel\", aggregation: {0}}}]",
                       aggregation),
           fmt::format("gradients={}", gradients),
           "state=[{name: total, aggregation: sum, assign_add: 1}, {name: own, assign_add: [1, 2, 3, 4]}]"},
          false, 1e-5);
    }
  }
}

TEST_CASE("a worker whose replicas are not the run's first has the numbers and the states that follow theirs") {
  const std::string state = "state=[{name: own, assign_add: [1, 2, 3, 4]}]";
  REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(2), state}, [&](int worker, Training& training) {
            const Topology& topology = training.strategy->topology();
            CHECK(topology.lanes.front().replicas == std::vector{2 * worker});
            CHECK(topology.is_chief() == (worker == 0));
            // The fourth batch has three examples: the run's last replica has none.
            training.steps(4);
            const auto copies = training.strategy->state().readings().at(0).replicas;
            using Number = report::StateReading::Number;
            CHECK(copies == std::vector<Number>{std::int64_t{4}, std::int64_t{8}, std::int64_t{12}, std::int64_t{16}});
          }) == "no error");
}

TEST_CASE("workers without any example add the same buckets in the same order") {
  check_against_one_machine(
      4, 1, ", cross_device_ops: ring, communication: {bytes_per_pack: 64}",
      {"data.global_batch_size=2",
       "model.layers=[{dense: {units: 6, name: stem}}, {dense: {units: 5, name: left}}, {dense: "
       "{units: 5, name: right, inputs: [stem]}}, {add: {inputs: [left, right]}}, {dense: {units: 3}}]"},
      false, 1e-5);
}

TEST_CASE("values of the workers are gathered, and added, in their order") {
  REQUIRE(run_workers(3, kNetwork, {replicas_on_cpus(2)}, [&](int worker, Training& training) {
            Strategy& strategy = *training.strategy;
            // Two values of each replica, of which worker w has 2 w and 2 w + 1.
            const double own[] = {20.0 * worker, 1, 20.0 * worker + 10, 2};
            CHECK(strategy.workers().gather(own) == std::vector<double>{0, 1, 10, 2, 20, 1, 30, 2, 40, 1, 50, 2});
            CHECK(strategy.workers().sum(own) == std::vector<double>{60, 3, 90, 6});
          }) == "no error");
}

TEST_CASE("no worker leaves a barrier before every one has come") {
  std::atomic<int> come = 0;
  REQUIRE(run_workers(3, kNetwork, {replicas_on_cpus(1)}, [&](int worker, Training& training) {
            for (int round = 1; round <= 20; ++round) {
              if (worker == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
              ++come;
              training.strategy->workers().barrier();
              CHECK(come >= 3 * round);
              training.strategy->workers().barrier();
            }
          }) == "no error");
}

TEST_CASE("buckets that are added while backward continues give the bits of one") {
  // The sum of two workers has one order.
  std::vector<std::map<std::string, std::vector<float>>> found(2);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}}) {
    const std::string options = fmt::format(", communication: {{bytes_per_pack: {}}}", bytes);
    REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(2, options)}, [&](int worker, Training& training) {
              training.steps(9);
              auto variables = training.variables(0);  // of every worker
              if (worker == 0) found[bytes] = std::move(variables);
            }) == "no error");
  }
  CHECK(found[0] == found[1]);
}

constexpr const char* kCompressed = ", communication: {compression: bfloat16}";

/// An absolute error whose outputs stay below their targets: the gradients are the same in every step.
constexpr const char* kSameGradients = R"(
seed: 3
data:
  global_batch_size: 4
  shuffle: false
  train:
    format: inline
    features: [[0.1, 0.3, 0.7], [0.2, 0.011, 0.5], [0.9, 0.4, 0.0007], [0.3, 0.6, 0.8]]
    labels: [1000, 1000, 1000, 1000]
model:
  input_shape: [3]
  layers:
    - dense: {units: 1}
loss: mean_absolute_error
optimizer: {type: sgd, learning_rate: 0.01}
)";

TEST_CASE("what rounding leaves of a compressed gradient comes with later ones") {
  for (const int workers : {2, 3, 4}) {
    CAPTURE(workers);
    Training one_machine(kSameGradients, {replicas_on_cpus(workers, "", "mirrored")});
    const auto first = one_machine.variables(0);
    one_machine.steps(1);
    const auto second = one_machine.variables(0);
    one_machine.steps(499);
    REQUIRE(run_workers(workers, kSameGradients, {replicas_on_cpus(1, kCompressed)}, [&](int, Training& training) {
              training.steps(500);
              const auto found = training.variables(0), expected = one_machine.variables(0);
              for (const auto& [name, values] : expected) {
                for (std::size_t i = 0; i < values.size(); ++i) {
                  const float in_a_step = std::abs(second.at(name)[i] - first.at(name)[i]);
                  // A step's rounding of each worker and of the sum, and of 500 additions in float32; without the
                  // feedback it would be up to a step's rounding 500 times.
                  CHECK(std::abs(found.at(name)[i] - values[i]) <
                        in_a_step * 0.02f * static_cast<float>(workers) + 1e-5f);
                }
              }
            }) == "no error");
  }
}

TEST_CASE(
    "compressed gradients train nearly as others do, in several buckets too, and from run to run with the same bits") {
  std::vector<std::map<std::string, std::vector<float>>> found;
  const char* const in_buckets = ", communication: {compression: bfloat16, bytes_per_pack: 1}";
  for (const char* options : {"", kCompressed, in_buckets, in_buckets}) {
    REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(2, options)}, [&](int worker, Training& training) {
              training.steps(9);
              auto variables = training.variables(0);  // of every worker
              if (worker == 0) found.push_back(std::move(variables));
            }) == "no error");
  }
  CHECK(difference(found[0], found[1]) < 5e-3);
  CHECK(difference(found[0], found[2]) < 5e-3);
  CHECK(found[0] != found[1]);
  CHECK(found[2] == found[3]);
}

TEST_CASE("a resume has what compression left, and on another number of workers its sum") {
  const TemporaryFolder folder;
  const auto checkpoints_of = [&](Training& training) {
    return Checkpoints(folder.path(), *training.strategy,
                       {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
  };
  std::map<std::string, std::vector<float>> at_the_end;
  REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(2, kCompressed)}, [&](int worker, Training& training) {
            training.steps(3);
            checkpoints_of(training).save(training.state, 1);
            training.steps(6);
            auto variables = training.variables(0);
            if (worker == 0) at_the_end = std::move(variables);
          }) == "no error");
  const auto resumed_on = [&](int workers, int replicas_each, const auto& check) {
    REQUIRE(
        run_workers(workers, kNetwork, {replicas_on_cpus(replicas_each, kCompressed)}, [&](int, Training& training) {
          training.seek(checkpoints_of(training).restore().value());
          check(training);
        }) == "no error");
  };
  resumed_on(2, 2, [&](Training& training) {
    training.steps(6);
    CHECK(training.variables(0) == at_the_end);
  });
  // What counts is the sum over the workers.
  const auto total_of = [](Training& training) {
    std::map<std::string, std::vector<float>> total;
    training.strategy->read_variables(Lasting::kResiduals, [&](const LastingVariable& variable) {
      if (!variable.residual) return;
      std::vector<float>& sum = total[variable.value.name()];
      sum.resize(static_cast<std::size_t>(variable.value.shape().elements()));
      variable.residual->read(reinterpret_cast<std::byte*>(sum.data()));
    });
    return total;
  };
  std::map<std::string, std::vector<float>> on_two;
  resumed_on(2, 2, [&](Training& training) {
    const auto total = total_of(training);
    if (training.strategy->topology().is_chief()) on_two = total;
  });
  CHECK(on_two.size() == 6);
  CHECK(std::ranges::any_of(on_two.begin()->second, [](float value) { return value != 0; }));
  resumed_on(4, 1, [&](Training& training) {
    CHECK(total_of(training) == on_two);
    training.steps(6);
    CHECK(difference(training.variables(0), at_the_end) < 5e-3);
  });
}

TEST_CASE("workers that go through all examples see each once for each worker, in a longer epoch") {
  REQUIRE(run_workers(2, kNetwork, {replicas_on_cpus(1), "data.auto_shard=off"}, [&](int, Training& training) {
            CHECK(training.order().batches_per_epoch() == 7);  // of 66 examples
            CHECK(training.order().examples_per_epoch() == 66);
            CHECK(training.steps(7).size() == 7);
            CHECK(training.order().position().examples == 66);
          }) == "no error");
}

TEST_CASE("the chief decides, and every worker hears it") {
  REQUIRE(run_workers(3, kNetwork, {replicas_on_cpus(1)}, [&](int worker, Training& training) {
            CHECK(training.strategy->workers().agree(100 + worker) == 100);
            CHECK(training.strategy->workers().agree(worker == 0 ? 0 : 15) == 0);
          }) == "no error");
}

TEST_CASE("the chief saves what all workers have, and every worker resumes from it") {
  const Overrides overrides = {replicas_on_cpus(2), R"(variables=[{match: "dense/*", aggregation: none}])"};
  const TemporaryFolder folder;
  const auto checkpoints_of = [&](Training& training) {
    return Checkpoints(folder.path(), *training.strategy,
                       {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
  };
  std::vector<std::vector<double>> rest(2);
  REQUIRE(run_workers(2, kNetwork, overrides, [&](int worker, Training& training) {
            training.steps(3);
            checkpoints_of(training).save(training.state, 1);
            rest[static_cast<std::size_t>(worker)] = training.steps(3);
          }) == "no error");
  CHECK(rest[0] == rest[1]);
  REQUIRE(run_workers(2, kNetwork, overrides, [&](int, Training& training) {
            training.seek(checkpoints_of(training).restore().value());
            CHECK(training.steps(3) == rest[0]);
          }) == "no error");
}

TEST_CASE("a worker that fails ends the others with its reason") {
  const std::string message = run_workers(2, kNetwork, {replicas_on_cpus(1)}, [&](int worker, Training& training) {
    training.steps(2);
    if (worker == 1) throw Error("the disk of worker 1 is full");
    training.steps(5);
  });
  CHECK(contains(message, "the disk of worker 1 is full"));
}

}  // namespace
}  // namespace mirrortrain
