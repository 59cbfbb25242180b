#pragma once

#include <string_view>

#include "model/losses.h"

namespace mirrortrain::metrics {

/// Throws Error if the loss's labels are class numbers, which have no distance from an output. `remedy`: "use
/// accuracy".
void require_numbers(std::string_view metric, const Loss& loss, std::string_view remedy);

/// Throws Error unless the loss's labels are class numbers. `remedy`: "use categorical_accuracy".
void require_class_numbers(std::string_view metric, const Loss& loss, std::string_view remedy);

/// hinge's outputs are not probabilities: their sign is the prediction.
inline bool predicts_signs(const Loss& loss) { return targets_of(loss) == Targets::kSigns; }

/// Throws Error if the loss's outputs cannot be probabilities.
void require_probabilities(std::string_view metric, const Loss& loss);

}  // namespace mirrortrain::metrics
