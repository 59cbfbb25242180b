#pragma once

#include <string>
#include <vector>

#include "base/shape.h"
#include "data/preprocessing/preprocessing.h"
#include "onnx/inputs/prepared.h"

namespace mirrortrain::onnx {

/// What the steps of an input's preprocessing make of examples outside of training. `wanted`: the input's shape in the
/// model. What has no operators is added to `refused`, and passed over.
Prepared preprocessed(Builder& builder, Prepared examples, const std::vector<data::PreprocessingStep>& steps,
                      const Shape& wanted, std::vector<std::string>& refused);

}  // namespace mirrortrain::onnx
