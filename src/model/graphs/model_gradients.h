#pragma once

#include <map>
#include <string>

#include "graph/aggregation_method.h"
#include "model/model.h"

namespace mirrortrain {

/// How gradients are added to a training graph.
struct GradientOptions {
  AggregationMethod aggregation = AggregationMethod::kAddN;
  std::map<std::string, int> units;  ///< of layers that are recomputed, ModelOptions::recomputed_units
  double loss_scale = 1;             ///< the losses are multiplied by it, and the gradients divided by it
};

/// Adds the gradients of all losses to the training graphs of all places. Throws Error for places that could not run
/// theirs together.
void add_model_gradients(Model& model, const GradientOptions& options);

}  // namespace mirrortrain
