#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "keras/writing/write_keras_model.h"

namespace mirrortrain::keras {

/// Whether each layer's output may carry a mask of padding, here and in Keras. `shapes`: of the outputs, by names.
std::vector<bool> layers_with_masks(const KerasExport& what, const std::map<std::string, Shape>& shapes);

/// Whether Keras may call an operation so that it makes to join masks when it loads the model: "concatenate_1".
bool is_name_of_mask_operation(std::string_view layer);

}  // namespace mirrortrain::keras
