#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/constraint.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// Low-rank adaptation of a kernel or table (Hu et al., 2021).
struct Lora {
  std::optional<std::int64_t> lora_rank;
  std::optional<double> lora_alpha;  ///< null: the rank

  static config::Section<Lora> section();

  /// The weight `name`, trained with `regularizer` and `constraint`; or, with a rank, the sum of that weight, which is
  /// frozen, and of alpha / rank times a product that is trained with `regularizer`: lora_NAME_a [..., rank] and
  /// lora_NAME_b [rank, the last extent].
  ValueId weight(LayerBuilder& builder, std::string_view name, const Shape& shape, const Initializer& initializer,
                 const std::optional<Regularizer>& regularizer, const std::optional<Constraint>& constraint) const;
};

/// The error of a constraint of the weight beside a rank; else empty.
std::string with_lora(const Lora& layer, const std::optional<Constraint>& constraint);

}  // namespace mirrortrain::layers
