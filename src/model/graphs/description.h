#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/precision.h"
#include "model/wiring.h"

namespace mirrortrain {

/// The description from which a model's graphs are built.
struct ModelDescription {
  const ModelOptions& options;
  const Wiring& wiring;
  const std::vector<Objective>& objectives;
  Precision precision;
  config::Errors& errors;

  bool has_several_outputs() const { return wiring.outputs.size() > 1; }
  /// "labels", or "rating_labels" of one of several outputs: what belongs to an output.
  std::string of_output(std::size_t output, std::string_view what) const {
    return has_several_outputs() ? fmt::format("{}_{}", wiring.output_name(output), what) : std::string(what);
  }
};

}  // namespace mirrortrain
