#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"

namespace mirrortrain {

/// The layers' compute dtype; variables, loss and metrics are float32 in both.
enum class Precision : std::uint8_t { kFloat32, kMixedBfloat16 };

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::Precision> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::Precision>>({
      {"float32", mirrortrain::Precision::kFloat32},
      {"mixed_bfloat16", mirrortrain::Precision::kMixedBfloat16},
  });
};
