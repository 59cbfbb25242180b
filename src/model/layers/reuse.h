#pragma once

#include <string>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// An earlier layer called once more, on other inputs, with the same weights, or a reversible embedding in reverse:
/// their gradients add up, and regularizers count once. A batch normalization updates its moving statistics at each
/// call, in the file's order; dropout draws anew.
struct Reuse : LayerCommon {
  static constexpr std::string_view kName = "reuse";
  // As many inputs as the reused layer has, and its masking: what builds the layers looks there.
  static constexpr std::size_t kMostInputs = SIZE_MAX;
  static constexpr Masking kMasking = Masking::kOwn;
  config::Located<std::string> layer;
  bool reverse = false;

  static config::Section<Reuse> section();
  /// Throws std::logic_error: the reused layer is built in its place.
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
