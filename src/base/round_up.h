#pragma once

#include <concepts>
#include <type_traits>

namespace mirrortrain {

/// The least multiple of `multiple` that is not below `value`, which is not negative.
template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace mirrortrain
