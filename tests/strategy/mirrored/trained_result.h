#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "every_pair.h"
#include "strategy/mirrored/worker_threads.h"
#include "temporary_folder.h"
#include "train/checkpoint/checkpoint.h"

namespace mirrortrain::testing {

/// What a training gave.
struct Result {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> variables;
  double evaluated = 0;
};

inline Result trained(Training& training, int steps = 7, bool in_flight = false) {
  Result result{in_flight ? training.steps_in_flight(steps) : training.steps(steps), {}, 0};
  result.variables = training.variables();
  const std::int64_t batch = training.checked.values().data.global_batch_size;
  result.evaluated = evaluate_all(*training.strategy, training.examples(), batch).loss;
  return result;
}

/// A network without its constraint, for which each step would gather all weights before it ends: they arrive as the
/// next one begins.
inline std::string unconstrained(std::string network) {
  const std::string_view constraint = ", kernel_constraint: {max_norm: {max_value: 0.9}}";
  const std::size_t place = network.find(constraint);
  REQUIRE(place != std::string::npos);
  return network.erase(place, constraint.size());
}

/// Checks that both trainings gave the same, within these relative differences.
inline void check_alike(const Result& expected, const Result& found, double losses, double variables) {
  REQUIRE(!expected.losses.empty());
  REQUIRE(found.losses.size() == expected.losses.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    CHECK(found.losses[i] == doctest::Approx(expected.losses[i]).epsilon(losses));
  }
  CHECK(found.evaluated == doctest::Approx(expected.evaluated).epsilon(losses));
  CHECK(difference(expected.variables, found.variables) < variables);
}

/// The chief's result of workers that are threads here, each with a `machine` of its own. `strategy`: an override.
/// `gathers_slowly`: weights are still on their way when the next step begins.
inline Result trained_by(int workers, const char* network, const std::string& strategy, std::vector<std::string> more,
                         int steps = 7, const std::function<Hardware()>& machine = this_hardware,
                         bool gathers_slowly = false) {
  more.push_back(strategy);
  Result of_chief;
  const auto train = [&](int worker, Training& training) {
    Result own = trained(training, steps, gathers_slowly);
    CHECK(training.strategy->differing_replicas() == "");
    if (worker == 0) of_chief = std::move(own);
  };
  REQUIRE(run_workers(workers, network, more, train, machine, gathers_slowly) == "no error");
  return of_chief;
}

/// Trains on workers that are threads here, with so many replicas each; returns the chief's result. `options`: of the
/// strategy, ", key: value".
inline Result on_workers(const char* network, int workers, int replicas_each, const std::string& options,
                         const std::vector<std::string>& more, int steps = 7) {
  return trained_by(workers, network, replicas_on_cpus(replicas_each, options), more, steps);
}

/// A run on so many workers, of one replica each, with these options of the strategy.
struct RunToResume {
  int workers = 1;
  std::string options;
};

inline Checkpoints checkpoints_in(Training& training, const std::filesystem::path& folder) {
  return {folder / "checkpoints", *training.strategy, {training.checked.model->slot_names()}, {}};
}

/// Checks that runs resume the checkpoints of others: the same run with the same bits, others within this difference of
/// the weights. Each of the runs resumes its own and the last one's, and the first one resumes that of each, so the
/// ends of the list are best those with most in parts; each resumes that of every one where is_long().
inline void check_resumes(const char* network, const std::vector<RunToResume>& runs, const std::string& more,
                          double difference_of_others) {
  for (std::size_t before = 0; before < runs.size(); ++before) {
    const TemporaryFolder folder;
    Result whole;
    REQUIRE(run_workers(runs[before].workers, network, {more, replicas_on_cpus(1, runs[before].options)},
                        [&](int worker, Training& training) {
                          training.steps(3);
                          checkpoints_in(training, folder.path()).save(training.state, 1);
                          Result own = trained(training, 4);
                          if (worker == 0) whole = std::move(own);
                        }) == "no error");
    for (std::size_t after = 0; after < runs.size(); ++after) {
      const bool is_same = after == before;
      if (!is_long() && !is_same && after != 0 && before + 1 != runs.size()) continue;
      CAPTURE(runs[before].options);
      CAPTURE(runs[after].workers);
      CAPTURE(runs[after].options);
      Result resumed;
      REQUIRE(run_workers(runs[after].workers, network, {more, replicas_on_cpus(1, runs[after].options)},
                          [&](int worker, Training& training) {
                            training.seek(checkpoints_in(training, folder.path()).restore().value());
                            Result own = trained(training, 4);
                            if (worker == 0) resumed = std::move(own);
                          }) == "no error");
      CHECK(difference(whole.variables, resumed.variables) < (is_same ? 1e-30 : difference_of_others));
    }
  }
}

}  // namespace mirrortrain::testing
