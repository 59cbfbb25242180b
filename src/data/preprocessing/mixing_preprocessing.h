#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

// The transforms that mix each example of a training batch with another one of it, with Keras's names and meanings.
// The labels of all outputs are mixed alike.

/// What they have in common. A transform that derives from it is one that mixes.
struct Mixing {
  config::Located<std::optional<std::vector<std::string>>> inputs;  ///< of the model; null: all
  static config::Section<Mixing> section();
  /// Whether it mixes this input of the model.
  bool mixes(std::string_view input) const;
};

struct MixUp : Mixing {
  static constexpr std::string_view kName = "mix_up";
  double alpha = 0.2;
  static config::Section<MixUp> section();
};

struct CutMix : Mixing {
  static constexpr std::string_view kName = "cut_mix";
  Factor factor = 1.0;
  static config::Section<CutMix> section();
};

}  // namespace mirrortrain::data
