#include "data/arrays/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/float16.h"

namespace mirrortrain::data {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <class T>
void decode(const std::byte* from, std::byte* to, std::size_t count, bool big_endian, auto&& convert) {
  using Result = decltype(convert(T{}));
  for (std::size_t i = 0; i < count; ++i) {
    const Result value = convert(load<T>(from + i * sizeof(T), big_endian));
    std::memcpy(to + i * sizeof(Result), &value, sizeof(Result));
  }
}

template <class To>
constexpr auto as = [](auto value) { return static_cast<To>(value); };

void decode_signed(const Element& element, const std::byte* from, std::byte* to, std::size_t count) {
  switch (element.bytes) {
    case 1: return decode<std::int8_t>(from, to, count, element.big_endian, as<std::int32_t>);
    case 2: return decode<std::int16_t>(from, to, count, element.big_endian, as<std::int32_t>);
    case 4: return decode<std::int32_t>(from, to, count, element.big_endian, as<std::int32_t>);
    default: return decode<std::int64_t>(from, to, count, element.big_endian, as<std::int64_t>);
  }
}

void decode_unsigned(const Element& element, const std::byte* from, std::byte* to, std::size_t count,
                     const std::string& name) {
  const auto from_uint64 = [&](std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(value);
    }
    throw Error(fmt::format("{}: the number {} is beyond int64; save the array as a smaller type", name, value));
  };
  switch (element.bytes) {
    case 1: std::memcpy(to, from, count); return;
    case 2: return decode<std::uint16_t>(from, to, count, element.big_endian, as<std::int32_t>);
    case 4: return decode<std::uint32_t>(from, to, count, element.big_endian, as<std::int64_t>);
    default: return decode<std::uint64_t>(from, to, count, element.big_endian, from_uint64);
  }
}

void decode_float(const Element& element, const std::byte* from, std::byte* to, std::size_t count) {
  switch (element.bytes) {
    case 2: return decode<std::uint16_t>(from, to, count, element.big_endian, float_from_half);
    case 4: return decode<float>(from, to, count, element.big_endian, as<float>);
    default: return decode<double>(from, to, count, element.big_endian, as<double>);
  }
}

}  // namespace

void decode_elements(const Element& element, const std::byte* from, std::byte* to, std::size_t count,
                     const std::string& name) {
  switch (element.kind) {
    case Element::Kind::kBool:
      return decode<std::uint8_t>(from, to, count, false, [](std::uint8_t v) { return std::uint8_t{v != 0}; });
    case Element::Kind::kUnsigned: return decode_unsigned(element, from, to, count, name);
    case Element::Kind::kSigned: return decode_signed(element, from, to, count);
    case Element::Kind::kFloat: return decode_float(element, from, to, count);
  }
}

bool is_as_in_memory(const Element& element) {
  return element.kind != Element::Kind::kBool && element.bytes == size_of(element.dtype()) &&
         (element.bytes == 1 || !element.big_endian) &&
         !(element.kind == Element::Kind::kUnsigned && element.bytes == 8);
}

Element element_in_memory(DType dtype) {
  const Element::Kind kind = dtype == DType::kUint8                             ? Element::Kind::kUnsigned
                             : dtype == DType::kInt32 || dtype == DType::kInt64 ? Element::Kind::kSigned
                                                                                : Element::Kind::kFloat;
  return {kind, size_of(dtype), false};
}

DType Element::dtype() const {
  switch (kind) {
    case Kind::kBool: return DType::kUint8;
    case Kind::kUnsigned: return bytes == 1 ? DType::kUint8 : bytes == 2 ? DType::kInt32 : DType::kInt64;
    case Kind::kSigned: return bytes <= 4 ? DType::kInt32 : DType::kInt64;
    default: return bytes <= 4 ? DType::kFloat32 : DType::kFloat64;
  }
}

Array read_elements(Input& input, const Element& element, Shape shape) {
  const std::string what = fmt::format("data for the shape {}", shape.text());
  input.require_possible(checked_bytes(shape, element.bytes, input.name()), what);
  Array array(element.dtype(), std::move(shape), input.name());
  read_elements(input, element, array.shape, array.bytes.data());
  return array;
}

void read_elements(Input& input, const Element& element, const Shape& shape, std::byte* to) {
  const std::string what = fmt::format("data for the shape {}", shape.text());
  const std::size_t stored_bytes = checked_bytes(shape, element.bytes, input.name());
  if (is_as_in_memory(element)) {
    input.read_all({to, stored_bytes}, what);
  } else {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    std::vector<std::byte> block(kBlock * element.bytes);
    const std::size_t in_memory = size_of(element.dtype()), elements = stored_bytes / element.bytes;
    for (std::size_t done = 0; done < elements; done += kBlock) {
      const std::size_t count = std::min(kBlock, elements - done);
      input.read_all(std::span(block).first(count * element.bytes), what);
      decode_elements(element, block.data(), to + done * in_memory, count, input.name());
    }
  }
  input.require_end();
}

}  // namespace mirrortrain::data
