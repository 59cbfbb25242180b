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

/// Computes a network's predictions for every example of a data set, in order, only on this machine: calls `take` with
/// the example's row and its class, or that of each of its time steps that is not padding. `meaning`: of outputs that
/// predict classes. Throws Error and UsageError for files that do not fit or are missing.
void predict_classes(
    const CheckedConfiguration& checked, const OutputMeaning& meaning, const data::Dataset& dataset,
    const data::Adapted& adapted, const std::function<void(const VariableStore& variables)>& load_weights,
    const std::function<void(std::int64_t row, std::int64_t label, std::span<const float> prediction)>& take);

}  // namespace mirrortrain::cli
