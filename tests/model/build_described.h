#pragma once

#include "model/build_model.h"

namespace mirrortrain {

/// The model of a description without data: no labels have weights or are missing.
inline Model build_described(const ModelOptions& options, const LossOptions& loss, const MetricOptions& metrics,
                             Precision precision, config::Errors& errors,
                             AggregationMethod aggregation = AggregationMethod::kAddN) {
  const Wiring wiring = wire_layers(options, errors);
  return build_model(options, wiring, objectives_of(wiring, loss, metrics, errors), precision, errors, aggregation);
}

}  // namespace mirrortrain
