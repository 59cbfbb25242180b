#pragma once

#include <string>
#include <vector>

#include "keras/json.h"
#include "keras/problems.h"
#include "keras/writing/write_keras_model.h"

namespace mirrortrain::keras {

/// The compile_config of a model. What Keras cannot say is reported; what it does otherwise is added to `remarks`.
Json compile_json(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks);

}  // namespace mirrortrain::keras
