#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"

namespace mirrortrain::data {

/// Synthetic data that can be learned: features are uniform in [0, 1), labels are computed from them with fixed random
/// weights. A pure function of the options, the same on every machine.
struct Synthetic {
  static constexpr std::string_view kName = "synthetic";
  std::int64_t examples = 0;
  config::Located<std::vector<std::int64_t>> shape;                       ///< of one example
  config::Located<std::optional<std::int64_t>> classes;                   ///< class numbers as labels,
  config::Located<std::optional<std::vector<std::int64_t>>> label_shape;  ///< or numbers of this shape
  std::uint64_t seed = 0;
  static config::Section<Synthetic> section();

  /// The shape of one example's label: [] for a class number.
  Shape labels() const { return Shape(label_shape.value.value_or(std::vector<std::int64_t>{})); }
};

Examples read(const Synthetic& source);

}  // namespace mirrortrain::data
