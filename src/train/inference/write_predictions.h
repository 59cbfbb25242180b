#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "train/inference/examples_to_predict.h"
#include "train/inference/prediction.h"
#include "train/session/run.h"

namespace mirrortrain {

/// Predicts all examples with a run made by run_on_examples of the first of them, and writes the predictions with the
/// examples' numbers in the whole data: those that were left out have none, or a row of NaN if rows have no numbers.
/// Warns of what the blocks say, and if the model gives NaN. Returns the number of predictions; null, and writes no
/// file, if `stops` says so of a batch, counted from 1: of workers that predict together, to all of the same one.
std::optional<std::int64_t> write_predictions(PredictionWriter& writer, bool is_of_arrays,
                                              const CheckedConfiguration& checked, Run& run,
                                              const std::vector<OutputMeaning>& meanings, ExampleBlocks& blocks,
                                              const std::function<bool(std::int64_t batch)>& stops,
                                              bool shows_progress);

}  // namespace mirrortrain
