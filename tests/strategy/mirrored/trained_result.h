#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "strategy/mirrored/worker_threads.h"

namespace mirrortrain::testing {

/// What a training gave.
struct Result {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> variables;
  double evaluated = 0;
};

inline Result trained(Training& training, int steps = 7) {
  Result result{training.steps(steps), {}, 0};
  result.variables = training.variables();
  result.evaluated = evaluate_all(*training.strategy, training.examples(), 12).loss;
  return result;
}

/// Trains on workers that are threads here, with so many replicas each; returns the chief's result. `options`: of the
/// strategy, ", key: value".
inline Result on_workers(const char* network, int workers, int replicas_each, const std::string& options,
                         const std::vector<std::string>& more, int steps = 7) {
  std::vector<std::string> overrides = more;
  overrides.push_back(replicas_on_cpus(replicas_each, options));
  Result of_chief;
  REQUIRE(run_workers(workers, network, overrides, [&](int worker, Training& training) {
            Result own = trained(training, steps);
            CHECK(training.strategy->differing_replicas() == "");
            if (worker == 0) of_chief = std::move(own);
          }) == "no error");
  return of_chief;
}

}  // namespace mirrortrain::testing
