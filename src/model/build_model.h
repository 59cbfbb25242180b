#pragma once

#include <vector>

#include "config/errors.h"
#include "graph/aggregation_method.h"
#include "model/model.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/precision.h"
#include "model/wiring.h"

namespace mirrortrain {

/// Turns the description into graphs: forward, losses and metrics, fused, and for training the gradients. `wiring`: of
/// the options' layers; `objectives`: of its outputs. In mixed precision the layers compute in bfloat16; losses and
/// metrics read the outputs as float32. Every mismatch is added to `errors` at its place (layers, loss, metrics); the
/// model is then incomplete and must not be used. `aggregation`: how gradients are added where a value feeds several
/// layers. Metrics are not weighted.
Model build_model(const ModelOptions& options, const Wiring& wiring, const std::vector<Objective>& objectives,
                  Precision precision, config::Errors& errors,
                  AggregationMethod aggregation = AggregationMethod::kAddN);

}  // namespace mirrortrain
