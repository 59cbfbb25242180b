#pragma once

#include <string>
#include <vector>

#include "base/shape.h"
#include "data/preprocessing/preprocessing.h"
#include "onnx/inputs/prepared.h"

namespace mirrortrain::onnx {

/// Whether the steps take pictures of any size: one of them gives them theirs.
bool resize(const std::vector<data::PreprocessingStep>& steps);

/// The shape of examples before the steps, of which the layers take `wanted`: extents that these do not tell may be
/// any.
Ints shape_before(const std::vector<data::PreprocessingStep>& steps, const Shape& wanted);

/// What the steps of an input's preprocessing make of examples outside of training. `wanted`: the input's shape in the
/// model. What has no operators is added to `refused`, and passed over.
Prepared preprocessed(Builder& builder, Prepared examples, const std::vector<data::PreprocessingStep>& steps,
                      const Shape& wanted, std::vector<std::string>& refused);

}  // namespace mirrortrain::onnx
