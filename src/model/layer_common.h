#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "model/initializers.h"

namespace mirrortrain {

/// What becomes of the mask that a layer's input carries (graph/ops/mask.h), as in Keras.
enum class Masking : std::uint8_t {
  kEnds,    ///< the layer knows no masks: its output carries none, of which the user is warned
  kPasses,  ///< the output carries the input's
  kOwn,     ///< `build` takes the masks and says which the output carries
};

/// The options that every layer has. A layer derives from it and ends its section with `.include<LayerCommon>()`.
struct LayerCommon {
  static constexpr std::size_t kFewestInputs = 1, kMostInputs = 1;
  /// Whether an option decides how many axes the output has, so that nothing is known of it where one was misread.
  static constexpr bool kOptionsSetRank = false;
  static constexpr Masking kMasking = Masking::kEnds;

  config::Located<std::optional<std::string>> name;
  std::vector<config::Located<std::string>> inputs;  ///< empty: the previous layer
  bool trainable = true;

  static config::Section<LayerCommon> section();
};

/// What is wrong with an option of the bias, where one is given and there is no bias; else empty.
template <class Options>
std::string without_bias(const Options& layer, bool is_given) {
  return is_given && !layer.use_bias ? "there is no bias, as use_bias is false; remove one of the two" : "";
}

/// The same of its initializer: the default may stand there.
template <class Options>
std::string without_bias(const Options& layer) {
  return without_bias(layer, !std::holds_alternative<initializers::Zeros>(layer.bias_initializer));
}

}  // namespace mirrortrain
