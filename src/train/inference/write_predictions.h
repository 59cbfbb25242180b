#pragma once

#include <atomic>
#include <vector>

#include "data/dataset.h"
#include "train/inference/extra_columns.h"
#include "train/inference/prediction.h"
#include "train/session/run.h"

namespace mirrortrain {

/// Predicts all examples of a run made by run_to_predict and writes the predictions with the examples' numbers in the
/// whole data: those that were left out have none, or a row of NaN if rows have no numbers. Warns if the model gives
/// NaN. Returns false, and writes no file, if `signal` becomes other than 0 meanwhile.
bool write_predictions(const PredictionOutput& output, const Run& run, const Model& model,
                       const std::vector<OutputMeaning>& meanings, const data::Dataset& examples,
                       const ExtraColumns& extra, const std::atomic<int>& signal, bool shows_progress);

}  // namespace mirrortrain
