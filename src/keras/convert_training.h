#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// What a model was compiled for, as sections of a configuration; null where nothing was said.
struct ConvertedTraining {
  config::Value loss, metrics, optimizer, gradients;
  std::vector<std::string> remarks;  ///< on what was left out
};

/// `outputs`: the model's, in order, by their names here; `output_names`: these by Keras's names. What cannot be said
/// is reported.
ConvertedTraining convert_training(const Json& compiled, const std::vector<std::string>& outputs,
                                   const std::map<std::string, std::string>& output_names, Problems& problems);

}  // namespace mirrortrain::keras
