#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "train/inference/prediction.h"
#include "train/session/run.h"

namespace mirrortrain {

class RunCluster;

/// Rows that a replica computes at a time, always the same number.
constexpr std::int64_t kPredictedRows = 32;

struct PredictOptions {
  std::int64_t rows = kPredictedRows;  ///< computed by a replica at a time; predict_all supports only the default
  bool one_replica = false;            ///< on the first of the devices
  /// Global batches that are computed beside those of `rows` for each replica.
  std::vector<std::int64_t> other_batches{};
  bool are_ready = false;               ///< the examples are as the model takes them, without preprocessing
  data::SplitKey key{};                 ///< of the examples, for errors; none: they are not a split
  const RunCluster* cluster = nullptr;  ///< whose workers compute it together; null: this process alone
};

/// From now on for examples that change in place, which a device that had them in its own memory would not notice.
CheckedConfiguration& fed_by_host(CheckedConfiguration& checked);

/// Creates a run of these examples, with a strategy on this machine, or on the workers of a cluster, whose results
/// depend neither on the number of replicas nor on the number of threads; ready except for the variables' values.
/// `adapted`: as kept by the run. Throws the exceptions of build_run.
Run run_to_predict(const CheckedConfiguration& checked, const data::Dataset& dataset, data::Adapted adapted,
                   const PredictOptions& predicting = {});

/// Lets such a run predict other examples from now on, of the same shapes.
void replace_examples(Run& run, const CheckedConfiguration& checked, const data::Dataset& dataset);

/// Calls `take` with the outputs of the run's model for every example, in order. Memory does not grow with the number
/// of examples. The same bits on any number of replicas, and, where the examples are a part of others of which
/// `before` were predicted before, as if all were predicted together.
void predict_all(const Run& run,
                 const std::function<void(std::int64_t row, std::span<const ExampleOutput> outputs)>& take,
                 std::int64_t before = 0);

/// Computes a network's predictions for every example of a data set, in order, only on this machine: for each output of
/// `meanings` that predicts classes, calls `take` with its number, the example's row and its class, or that of each of
/// its time steps that is not padding; for other outputs `take_numbers`, if given, with all numbers of an example's
/// label and of the output. Not for an example without a label. Throws Error and UsageError for files that do not fit
/// or are missing.
void predict_labelled(const CheckedConfiguration& checked, const std::vector<OutputMeaning>& meanings,
                      const data::Dataset& dataset, const data::Adapted& adapted,
                      const std::function<void(Strategy& strategy)>& load_weights,
                      const std::function<void(std::size_t output, std::int64_t row, std::int64_t label,
                                               std::span<const float> prediction)>& take,
                      const std::function<void(std::size_t output, std::span<const double> labels,
                                               std::span<const float> prediction)>& take_numbers = {});

}  // namespace mirrortrain
