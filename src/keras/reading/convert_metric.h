#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/json.h"
#include "keras/options.h"
#include "model/losses.h"

namespace mirrortrain::keras {

/// What decides what a metric of an output computes in Keras.
struct MetricOutput {
  std::optional<Loss> loss;  ///< none: there is none, or it does not exist here
  std::int64_t width = 0;    ///< the output's last axis; 0: not known yet
};

/// What a user has to know of metrics.
struct MetricNotes {
  std::vector<std::string>& changed;   ///< another metric, or threshold, with the figure that Keras's has
  std::vector<std::string>& left_out;  ///< no figure here is Keras's
};

/// Metrics that Keras saved, as a list of those with the same figures; those without one are left out, with a note.
/// Reports classes of one's own.
config::Value convert_metrics(const Json& metrics, const MetricOutput& output, const OptionPlace& place,
                              MetricNotes notes);

}  // namespace mirrortrain::keras
