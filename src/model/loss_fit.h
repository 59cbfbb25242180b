#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/errors.h"
#include "model/losses.h"
#include "model/metrics.h"
#include "model/model.h"
#include "model/model_options.h"

namespace mirrortrain {

/// Looks for valid but probably unintended combinations: a loss that does not match the last layer's activation, and
/// metrics that are meaningless for the loss. Adds warnings, and an error if nothing can be trained. `made`: before ops
/// are fused. `names`: the layers' names, in their order.
void check_loss_fit(const ModelGraph& made, const ModelOptions& options, const std::vector<std::string>& names,
                    const config::Located<Loss>& loss, const std::vector<config::Located<Metric>>& metrics,
                    config::Errors& errors);

/// The smallest and the largest value of the last activation, infinity where unbounded; nullopt if unbounded on both
/// sides. `made`: before ops are fused.
std::optional<std::pair<double, double>> output_range(const ModelGraph& made);

}  // namespace mirrortrain
