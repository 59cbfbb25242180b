#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/errors.h"
#include "graph/graph.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/wiring.h"

namespace mirrortrain {

/// Looks for valid but probably unintended combinations: a loss that does not match the last layer's activation, and
/// metrics that are meaningless for the loss. Adds warnings, and an error if nothing can be trained. `made`: before ops
/// are fused; `output`: the value of the model's output of this number, for which the objective is.
void check_loss_fit(const Graph& made, ValueId output, const ModelOptions& options, const Wiring& wiring,
                    std::size_t number, const Objective& objective, config::Errors& errors);

/// The smallest and the largest value of an output's last activation, infinity where unbounded; nullopt if unbounded on
/// both sides. `made`: before ops are fused.
std::optional<std::pair<double, double>> output_range(const Graph& made, ValueId output);

}  // namespace mirrortrain
