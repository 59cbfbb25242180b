#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "data/feeding/feeder.h"
#include "kernels/scalar/step_params.h"

namespace mirrortrain {

/// Steps with equal keys have equal plans: the work that their fixed actions enqueue depends only on the key.
struct StepKey {
  const void* data_set = nullptr;
  std::int64_t examples = 0, gradients = 0;
  bool applies = false;
  std::int64_t length = 0;  ///< number of time steps computed of its sequences; 0: all
  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

/// The learning rate of each of a run's optimizers in a step; 0 beyond them.
using LearningRates = std::array<double, kMostOptimizers>;

/// The host's description of a step: one global batch, and the use of its gradients. Kernels read StepParams.
struct StepSpec {
  const data::Feeder* data_set = nullptr;  ///< may be null if there is no model
  std::span<const std::int64_t> rows;      ///< of the data set
  std::int64_t epoch = 0;                  ///< counted from 1; 0: evaluation, where preprocessing is not random
  std::int64_t step = 0;                   ///< number of the batch, from 1
  std::int64_t gradients = 0;              ///< accumulated since the last update, this step's included; 0: evaluation
  bool applies = false;                    ///< whether the weights are updated in this step
  bool skips = false;                      ///< an earlier step accumulated together with it was skipped
  std::int64_t updates = 0;                ///< number of the update, from 1
  LearningRates learning_rates{};

  std::int64_t global_examples() const { return static_cast<std::int64_t>(rows.size()); }
  StepKey key() const {
    return {.data_set = data_set,
            .examples = global_examples(),
            .gradients = gradients,
            .applies = applies,
            .length = data_set != nullptr ? data_set->buckets().length_of(rows) : 0};
  }
};

/// Loss and metrics of one or more steps, as sums over examples, so that they can be added over replicas, lanes,
/// workers and steps.
struct StepSums {
  double loss = 0;              ///< including regularization, times the number of examples; see StepsInFlight::take
  std::vector<double> losses;   ///< of each output, without its weight and regularization, times the examples
  std::vector<double> metrics;  ///< the sums of all metrics, in the order of Model::outputs
  std::int64_t examples = 0;

  StepSums() = default;
  StepSums(std::size_t outputs, std::size_t metric_count) : losses(outputs, 0.0), metrics(metric_count, 0.0) {}

  StepSums& operator+=(const StepSums& other) {
    loss += other.loss;
    add(losses, other.losses);
    add(metrics, other.metrics);
    examples += other.examples;
    return *this;
  }
  void clear() {
    loss = 0;
    losses.assign(losses.size(), 0.0);
    metrics.assign(metrics.size(), 0.0);
    examples = 0;
  }

 private:
  static void add(std::vector<double>& to, const std::vector<double>& more) {
    to.resize(std::max(to.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) to[i] += more[i];
  }
};

}  // namespace mirrortrain
