#pragma once

#include <string>
#include <vector>

#include "config/errors.h"
#include "data/loading/model_fit.h"
#include "model/model.h"
#include "model/objective.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {

/// What a model requires of examples.
data::ExampleSpec example_spec(const Model& model, const ModelOptions& options,
                               const std::vector<Objective>& objectives);

/// What the data say of an output's labels. Weights in the data apply to every split that has them, class weights only
/// to training: having both is an error.
LabelTraits label_traits(const Configuration& values, const std::string& output, const Loss& loss,
                         config::Errors& errors);

}  // namespace mirrortrain
