#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// The dot product of two inputs along one axis of each, as Keras's: the output has the first input's other axes,
/// followed by the second's; [1] where there are none.
struct Dot : LayerCommon {
  static constexpr std::string_view kName = "dot";
  static constexpr std::size_t kFewestInputs = 2, kMostInputs = 2;
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kEnds;
  std::array<std::int64_t, 2> axes{};  ///< of the two inputs; 0 is the batch
  bool normalize = false;

  static config::Section<Dot> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
