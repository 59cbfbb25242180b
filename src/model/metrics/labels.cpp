#include "model/metrics/labels.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::metrics {

void require_numbers(std::string_view metric, const Loss& loss, std::string_view remedy) {
  if (targets_of(loss) != Targets::kClassNumbers) return;
  throw Error(fmt::format("{} needs labels of the same shape as the output, but the loss takes class numbers; {}",
                          metric, remedy));
}

void require_class_numbers(std::string_view metric, const Loss& loss, std::string_view remedy) {
  if (targets_of(loss) == Targets::kClassNumbers) return;
  throw Error(fmt::format("{} needs labels that are class numbers, but the loss takes labels of the output's shape; {}",
                          metric, remedy));
}

void require_probabilities(std::string_view metric, const Loss& loss) {
  if (!predicts_signs(loss)) return;
  throw Error(fmt::format("{} needs probabilities, and {}'s outputs are none; use a crossentropy, or accuracy", metric,
                          config::visit([](const auto& options) { return options.kName; }, loss)));
}

}  // namespace mirrortrain::metrics
