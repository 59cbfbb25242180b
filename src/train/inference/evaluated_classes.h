#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/session/run.h"

namespace mirrortrain {

/// What an evaluation's JSON has in addition if the model predicts classes: see ClassReport. Of several outputs, each
/// has its figures below `outputs`. Each worker predicts its part of the split; called by every worker.
nlohmann::ordered_json evaluated_classes(const CheckedConfiguration& checked, const Run& run, data::Split split);

}  // namespace mirrortrain
