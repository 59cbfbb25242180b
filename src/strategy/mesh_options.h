#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "config/section.h"
#include "graph/ops/collective.h"

namespace mirrortrain {

enum class AutoSize : std::uint8_t { kAuto };
/// The number of places along an axis of the mesh; auto: what the devices leave.
using MeshSize = std::variant<AutoSize, std::int64_t>;

/// The section `strategy.mesh`.
struct MeshOptions {
  MeshSize data = AutoSize::kAuto, model = std::int64_t{1};
  static config::Section<MeshOptions> section();
};

/// A size's number; nullopt for auto.
inline std::optional<std::int64_t> number_of(const MeshSize& size) {
  const auto* const number = std::get_if<std::int64_t>(&size);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace mirrortrain

namespace mirrortrain::config {

template <>
struct EnumNames<ops::Axis> {
  static constexpr auto names =
      std::to_array<std::pair<std::string_view, ops::Axis>>({{"data", ops::Axis::kData}, {"model", ops::Axis::kModel}});
};

template <>
struct EnumNames<AutoSize> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, AutoSize>>({{"auto", AutoSize::kAuto}});
};

template <>
struct ChoiceTag<MeshSize> {
  static constexpr std::string_view noun = "`auto` or a number of places from 1";
};

}  // namespace mirrortrain::config
