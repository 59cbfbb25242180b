#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mirrortrain::ops {

/// One value for each axis.
template <std::size_t kAxes>
constexpr std::array<std::int64_t, kAxes> filled(std::int64_t value) {
  std::array<std::int64_t, kAxes> all{};
  all.fill(value);
  return all;
}

enum class Padding : std::uint8_t { kValid, kSame };

/// One spatial axis of a sliding window: how many outputs and how much padding before and after. Odd padding goes after
/// (to the bottom and right), as in Keras.
struct WindowAxis {
  std::int64_t output = 0, pad_before = 0, pad_after = 0;
};

/// `output` is 0 or less where the window does not fit.
WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                       Padding padding);

}  // namespace mirrortrain::ops
