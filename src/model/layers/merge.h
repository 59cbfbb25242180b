#pragma once

#include <cstdint>
#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// Shared by layers with several inputs.
struct Merge : LayerCommon {
  static constexpr std::size_t kFewestInputs = 2, kMostInputs = SIZE_MAX;
  static constexpr Masking kMasking = Masking::kOwn;
};

/// The sum of its inputs, element by element. As in all of these but concatenate, axes of 1 are broadcast.
struct Add : Merge {
  static constexpr std::string_view kName = "add";

  static config::Section<Add> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The first of two inputs minus the second.
struct Subtract : Merge {
  static constexpr std::string_view kName = "subtract";

  static config::Section<Subtract> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The product of its inputs.
struct Multiply : Merge {
  static constexpr std::string_view kName = "multiply";

  static config::Section<Multiply> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The mean of its inputs.
struct Average : Merge {
  static constexpr std::string_view kName = "average";

  static config::Section<Average> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The largest of its inputs.
struct Maximum : Merge {
  static constexpr std::string_view kName = "maximum";

  static config::Section<Maximum> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The smallest of its inputs.
struct Minimum : Merge {
  static constexpr std::string_view kName = "minimum";

  static config::Section<Minimum> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Concatenates its inputs along an axis.
struct Concatenate : Merge {
  static constexpr std::string_view kName = "concatenate";
  static constexpr std::string_view kAliases = "concat, cat";
  std::int64_t axis = -1;

  static config::Section<Concatenate> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
