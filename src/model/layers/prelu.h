#pragma once

#include <span>
#include <vector>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// x where it is positive, alpha x elsewhere; variable alpha in the input's shape, with 1 for the shared axes.
struct Prelu : LayerCommon {
  static constexpr std::string_view kName = "prelu";
  static constexpr Masking kMasking = Masking::kPasses;
  Initializer alpha_initializer = initializers::Zeros{};
  std::optional<Regularizer> alpha_regularizer;
  std::optional<Constraint> alpha_constraint;
  std::vector<std::int64_t> shared_axes;

  static config::Section<Prelu> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
