#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cli/run_weights.h"
#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "train/inference/prediction.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {

/// Computes a network's predictions for every example of a data set, in order, only on this machine: for each output of
/// `meanings` that predicts classes, calls `take` with its number, the example's row and its class, or that of each of
/// its time steps that is not padding; not for an example without a label. Throws Error and UsageError for files that
/// do not fit or are missing.
void predict_classes(const CheckedConfiguration& checked, const std::vector<OutputMeaning>& meanings,
                     const data::Dataset& dataset, const data::Adapted& adapted,
                     const std::function<void(const VariableStore& variables)>& load_weights,
                     const std::function<void(std::size_t output, std::int64_t row, std::int64_t label,
                                              std::span<const float> prediction)>& take);

}  // namespace mirrortrain::cli
