#pragma once

#include "model/graphs/description.h"
#include "model/layer_builder.h"
#include "model/model.h"

namespace mirrortrain {

/// Adds losses, metrics and the penalty of regularized outputs to one of a model's graphs, which has its layers.
/// `layers` built these. What is wrong with them is added to the description's errors.
void add_objectives(const ModelDescription& description, LayerBuilder& layers, Model& model);

}  // namespace mirrortrain
