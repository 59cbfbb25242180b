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

/// Looks for what can be built but is hardly meant: a loss that takes the output for something else than the last
/// layer's activation makes of it, and metrics that mean nothing for the loss. Adds warnings, and an error where
/// nothing can be trained. `made`: before ops are fused. `names`: the layers' names, in their order.
void check_loss_fit(const ModelGraph& made, const ModelOptions& options, const std::vector<std::string>& names,
                    const config::Located<Loss>& loss, const std::vector<config::Located<Metric>>& metrics,
                    config::Errors& errors);

/// The least and the largest number that the last activation can give, infinity where it has no bound; nullopt where
/// it has none on either side. `made`: before ops are fused.
std::optional<std::pair<double, double>> output_range(const ModelGraph& made);

}  // namespace mirrortrain
