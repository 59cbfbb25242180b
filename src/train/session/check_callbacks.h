#pragma once

#include "model/model.h"
#include "train/session/configuration.h"

namespace mirrortrain {

/// Adds to `errors` each callback that watches what the run does not have, or cannot do what it is for.
void check_callbacks(const Configuration& values, const Model& model, config::Errors& errors);

}  // namespace mirrortrain
