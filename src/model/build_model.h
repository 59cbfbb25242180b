#pragma once

#include <vector>

#include "config/errors.h"
#include "graph/aggregation_method.h"
#include "model/losses.h"
#include "model/metrics.h"
#include "model/model.h"
#include "model/model_options.h"
#include "model/precision.h"

namespace mirrortrain {

/// Which of the model's two losses use per-example weights.
struct WeightedLoss {
  bool training = false, evaluation = false;
};

/// Turns the description into graphs: forward, loss and metrics, fused, and for training the gradients. In mixed
/// precision the layers compute in bfloat16; loss and metrics read the output as float32. Every mismatch is added to
/// `errors` at its place (layers, loss, metrics); the model is then incomplete and must not be used. `aggregation`: how
/// gradients are added where a value feeds several layers. Metrics are not weighted.
Model build_model(const ModelOptions& options, const config::Located<Loss>& loss,
                  const std::vector<config::Located<Metric>>& metrics, Precision precision, config::Errors& errors,
                  AggregationMethod aggregation = AggregationMethod::kAddN, const WeightedLoss& weighted = {});

}  // namespace mirrortrain
