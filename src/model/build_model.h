#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "config/errors.h"
#include "graph/aggregation_method.h"
#include "model/model.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/places.h"
#include "model/precision.h"
#include "model/wiring.h"

namespace mirrortrain {

/// Turns the description into graphs: forward, losses and metrics, fused, and for training the gradients. `wiring`: of
/// the options' layers; `objectives`: of its outputs. In mixed precision the layers compute in bfloat16; losses and
/// metrics read the outputs as float32. Every mismatch is added to `errors` at its place (layers, loss, metrics); the
/// model is then incomplete and must not be used. `aggregation`: how gradients are added where a value feeds several
/// layers. Metrics are not weighted. Throws Error for a sharding that does not fit its variable.
Model build_model(const ModelOptions& options, const Wiring& wiring, const std::vector<Objective>& objectives,
                  Precision precision, config::Errors& errors, AggregationMethod aggregation = AggregationMethod::kAddN,
                  const PlacesOfModel& places = {}, double loss_scale = 1);

/// Adds the graphs of sequences of these lengths (Model::shorter), ascending and below input_shape[0], with the same
/// result as full-length ones: everything beyond each length is padding, which a mask excludes. `build` builds the
/// model for other options. Throws Error, with the remedy, for a model whose input is not a sequence masked by an
/// embedding, or with a layer that depends on the number of time steps.
void add_shorter_graphs(Model& model, const ModelOptions& options, std::span<const std::int64_t> lengths,
                        const std::function<Model(const ModelOptions&, config::Errors&)>& build);

}  // namespace mirrortrain
