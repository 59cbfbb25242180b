#pragma once

#include <map>
#include <string>

#include "config/errors.h"
#include "model/model.h"
#include "strategy/pipeline_options.h"

namespace mirrortrain {

/// The stage of each layer, by its name.
std::map<std::string, int> stages_of_layers(const PipelineOptions& options, const Model& model);

/// Adds errors for stages that name no layer, have none or are out of order, and for what a pipeline cannot compute in
/// microbatches.
void check_pipeline(const PipelineOptions& options, const Model& model, config::Errors& errors);

}  // namespace mirrortrain
