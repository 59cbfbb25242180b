#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "model/initializers.h"
#include "model/masking.h"
#include "model/regularizer.h"

namespace mirrortrain {

/// What connects a layer with others.
struct LayerConnections {
  config::Located<std::optional<std::string>> name;
  std::vector<config::Located<std::string>> inputs;  ///< empty: the previous layer

  static config::Section<LayerConnections> section();
};

/// The options that every layer has. A layer derives from it and ends its section with `.include<LayerCommon>()`.
struct LayerCommon : LayerConnections {
  static constexpr std::size_t kFewestInputs = 1, kMostInputs = 1;
  /// Whether an option determines the output's rank, so that it is unknown if an option was misread.
  static constexpr bool kOptionsSetRank = false;
  static constexpr Masking kMasking = Masking::kEnds;

  bool trainable = true;
  std::optional<Regularizer> activity_regularizer;  ///< of the output

  static config::Section<LayerCommon> section();
};

/// Of layers for sequences, images and volumes, which have 1 to 3 axes before the channels, what belongs to one.
template <std::size_t kAxes>
constexpr std::string_view by_axes(std::string_view sequence, std::string_view image, std::string_view volume) {
  return std::array{sequence, image, volume}[kAxes - 1];
}

/// The error of an option of the bias given without a bias; else empty.
template <class Options>
std::string without_bias(const Options& layer, bool is_given) {
  return is_given && !layer.use_bias ? "there is no bias, as use_bias is false; remove one of the two" : "";
}

/// The same for its initializer, for which the default is allowed.
template <class Options>
std::string without_bias(const Options& layer) {
  return without_bias(layer, !std::holds_alternative<initializers::Zeros>(layer.bias_initializer));
}

}  // namespace mirrortrain
