#pragma once

#include <cstdint>
#include <string>

#include "keras/json.h"
#include "keras/problems.h"
#include "model/losses.h"
#include "model/metrics.h"

namespace mirrortrain::keras {

/// A metric as Keras's object that has the same figure for the model's outputs, or a name. `width`: the output's last
/// axis. Where none has, that is reported, and the result is null.
Json metric_json(const Metric& metric, const Loss& loss, std::int64_t width, const std::string& where,
                 Problems& problems);

}  // namespace mirrortrain::keras
