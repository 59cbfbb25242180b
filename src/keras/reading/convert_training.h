#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/shape.h"
#include "config/value.h"
#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// What a model was compiled for, as sections of a configuration; null where nothing was said.
struct ConvertedTraining {
  config::Value loss, metrics, optimizer, gradients;
  std::vector<std::string> remarks;   ///< on what is said otherwise here, or is not in the file
  std::vector<std::string> warnings;  ///< on what a user has to know or to write: metrics that were left out, ...
};

/// `outputs`: the model's, in order, by their names here; `output_names`: these by Keras's names. What cannot be said
/// is reported. `shapes`: of the outputs, on which it depends what Keras makes of "accuracy"; none: not known
/// yet, and the result is as far as it does not depend on them.
ConvertedTraining convert_training(const Json& compiled, const std::vector<std::string>& outputs,
                                   const std::map<std::string, std::string>& output_names, Problems& problems,
                                   const std::vector<Shape>& shapes = {});

}  // namespace mirrortrain::keras
