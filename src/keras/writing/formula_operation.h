#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "keras/json.h"

namespace mirrortrain::keras {

/// An operation of keras.ops on one tensor.
struct FormulaOperation {
  std::string_view class_name;
  Json config;
  std::optional<Json> key{};  ///< a second argument: what is between the brackets
};

/// What Keras calls a formula of `x` that is one operation: a part of it, as x[0, 1:3], or its mean, sum, largest or
/// smallest over axes. Keras counts the axis of the batch, as a formula does not. `rank`: of an example. nullopt for
/// others.
std::optional<FormulaOperation> operation_of(const std::string& formula, std::size_t rank);

}  // namespace mirrortrain::keras
