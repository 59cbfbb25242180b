#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

struct SparseCategoricalCrossentropy {
  static constexpr std::string_view kName = "sparse_categorical_crossentropy";
  static constexpr Targets kTargets = Targets::kClassNumbers;
  bool from_logits = false;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy, from_logits); }

  static config::Section<SparseCategoricalCrossentropy> section() {
    return config::Section<SparseCategoricalCrossentropy>("For one class of many, class numbers as labels.")
        .key("from_logits", &SparseCategoricalCrossentropy::from_logits,
             "Whether the output is logits instead of probabilities.");
  }
};

}  // namespace mirrortrain::losses
