#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/ops/window.h"

namespace mirrortrain {

/// The longest window, stride or dilation that a layer accepts.
inline constexpr std::int64_t kLongestWindow = std::int64_t{1} << 20;

/// Of sequences, which may also be padded by zeros before the first step alone, so that no output depends on later
/// steps.
enum class SequencePadding : std::uint8_t { kValid, kSame, kCausal };

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::ops::Padding> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::ops::Padding>>({
      {"valid", mirrortrain::ops::Padding::kValid},
      {"same", mirrortrain::ops::Padding::kSame},
  });
  static constexpr auto advice =
      std::to_array<Advice>({{"0", "write valid, which is no padding"},
                             {"1", "write same, which is what a kernel of 3 needs to keep the size"},
                             {"2", "write same, which is what a kernel of 5 needs to keep the size"},
                             {"3", "write same, which is what a kernel of 7 needs to keep the size"}});
};

template <>
struct mirrortrain::config::EnumNames<mirrortrain::SequencePadding> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::SequencePadding>>({
      {"valid", mirrortrain::SequencePadding::kValid},
      {"same", mirrortrain::SequencePadding::kSame},
      {"causal", mirrortrain::SequencePadding::kCausal},
  });
  static constexpr auto advice = mirrortrain::config::EnumNames<mirrortrain::ops::Padding>::advice;
};
