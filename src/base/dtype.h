#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bfloat16.h"

namespace mirrortrain {

enum class DType : std::uint8_t { kUint8, kInt32, kInt64, kBfloat16, kFloat32, kFloat64 };

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// "uint8", "int32", "int64", "bfloat16", "float32" or "float64".
std::string_view name_of(DType dtype);

template <class T>
inline constexpr DType kDTypeOf = [] {
  static_assert(sizeof(T) == 0, "no DType");
  return DType::kFloat32;
}();
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<bfloat16> = DType::kBfloat16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;

}  // namespace mirrortrain
