#pragma once

#include <cstdint>
#include <functional>

#include "train/inference/prediction.h"
#include "train/session/run.h"

namespace mirrortrain {

/// Rows that a replica computes at a time, always as many.
constexpr std::int64_t kPredictedRows = 32;

struct PredictOptions {
  std::int64_t rows = kPredictedRows;  ///< that a replica computes at a time; predict_all takes the default alone
  bool one_replica = false;            ///< on the first of the devices
  data::SplitKey key{};                ///< of the examples, whose errors get its place; none: they are no split
};

/// The examples and a strategy on this machine alone whose results depend on neither the number of replicas nor that of
/// threads; ready but for the variables' values. `adapted`: what the run kept. Throws what build_run does.
Run run_to_predict(const CheckedConfiguration& checked, const data::Dataset& dataset, data::Adapted adapted,
                   const PredictOptions& predicting = {});

/// Gives the output of the run's model for every example, in order. Memory does not grow with the examples. The
/// same bits on any number of replicas.
void predict_all(const Run& run, const std::function<void(std::int64_t row, const ExampleOutput& output)>& take);

}  // namespace mirrortrain
