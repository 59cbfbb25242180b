#pragma once

#include <array>
#include <span>
#include <variant>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// [steps, channels] -> [1 + steps, channels]: prepends a trained vector to the sequence, like the class token of a
/// vision transformer; variable token [1, channels].
struct ClassToken : LayerCommon {
  static constexpr std::string_view kName = "class_token";
  Initializer initializer = initializers::Zeros{};

  static config::Section<ClassToken> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [steps, channels] without steps at the beginning and at the end.
struct Cropping1d : LayerCommon {
  static constexpr std::string_view kName = "cropping1d";
  std::array<std::int64_t, 2> cropping{1, 1};  ///< {beginning, end}

  static config::Section<Cropping1d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
