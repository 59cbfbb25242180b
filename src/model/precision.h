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
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"float32", "fp32"}, {"mixed_bfloat16", "fp16, float16, mixed_float16, bf16, bfloat16, amp"}});
  static constexpr auto advice = std::to_array<Advice>(
      {{"true, mixed, 16, 16-mixed, bf16-mixed", "write mixed_bfloat16"}, {"32", "write float32"}});
};
