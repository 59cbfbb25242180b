#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/map.h"
#include "config/section.h"
#include "data/dataset.h"
#include "data/fields.h"

namespace mirrortrain::data {

/// The synthetic features of one of several inputs.
struct SyntheticInput {
  std::string name{};                                    ///< of the input; empty for the only one
  config::Located<std::vector<std::int64_t>> shape;      ///< of one example
  config::Located<std::optional<std::int64_t>> below{};  ///< whole numbers below this; null: numbers in [0, 1)
  static config::Section<SyntheticInput> section();
};

/// The synthetic labels of one of several outputs.
struct SyntheticLabels {
  std::string name{};                                                     ///< of the output; empty for the only one
  config::Located<std::optional<std::int64_t>> classes;                   ///< null: labels are real numbers
  config::Located<std::optional<std::vector<std::int64_t>>> label_shape;  ///< null: [], a class number
  static config::Section<SyntheticLabels> section();

  /// The shape of one example's label: [] for a class number.
  Shape shape() const { return Shape(label_shape.value.value_or(std::vector<std::int64_t>{})); }
};

/// Synthetic data that can be learned: features are uniform in [0, 1), or whole numbers; labels are computed from them
/// with fixed random weights. A pure function of the options, the same on every machine.
struct Synthetic {
  static constexpr std::string_view kName = "synthetic";
  std::int64_t examples = 0;
  config::Located<std::optional<std::vector<std::int64_t>>> shape;  ///< of one example; null if there are `inputs`
  config::Map<SyntheticInput> inputs;
  SyntheticLabels only;                 ///< for the model's only output
  config::Map<SyntheticLabels> labels;  ///< or by output
  std::uint64_t seed = 0;
  static config::Section<Synthetic> section();

  /// Without those whose shape is missing, which is reported.
  std::vector<SyntheticInput> all_inputs() const;
  std::vector<SyntheticLabels> all_labels() const;
  FieldNames field_names() const;
};

Examples read(const Synthetic& source);

}  // namespace mirrortrain::data
