#include "data/reading/gather.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/bfloat16.h"

namespace mirrortrain::data {
namespace {

template <class T>
using RealFor = std::conditional_t<sizeof(T) <= 2 || std::is_same_v<T, float>, float, double>;

template <class To>
To rounded(float value) {
  return static_cast<To>(value);
}

// Without bfloat16's check for NaN: data are finite, and a NaN that arithmetic makes of them (infinity times zero) has
// no low bits that rounding up could carry away.
template <>
bfloat16 rounded<bfloat16>(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  bfloat16 result;
  result.bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  return result;
}

template <class Real>
const RowConverter::Constants<Real>& constants_in(const RowConverter::AllConstants& all) {
  if constexpr (std::is_same_v<Real, float>) {
    return all.in_float;
  } else {
    return all.in_double;
  }
}

template <class From, class To, class Real>
void convert_with_one(const From* __restrict from, To* __restrict to, std::int64_t elements,
                      const RowConverter::Constants<Real>& constants) {
  const Real shift = constants.shift[0], scale = constants.scale[0], offset = constants.offset[0];
  for (std::int64_t i = 0; i < elements; ++i) {
    to[i] = rounded<To>(static_cast<float>((static_cast<Real>(from[i]) - shift) * scale + offset));
  }
}

template <class From, class To, class Real>
void convert_with_many(const From* __restrict from, To* __restrict to, std::int64_t elements,
                       const RowConverter::Constants<Real>& constants) {
  const Real* __restrict shift = constants.shift.data();
  const Real* __restrict scale = constants.scale.data();
  const Real* __restrict offset = constants.offset.data();
  const auto period = static_cast<std::int64_t>(constants.shift.size());
  for (std::int64_t begin = 0; begin < elements; begin += period) {
    const std::int64_t count = std::min(period, elements - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      const Real x = static_cast<Real>(from[begin + i]);
      to[begin + i] = rounded<To>(static_cast<float>((x - shift[i]) * scale[i] + offset[i]));
    }
  }
}

template <class From, class To, class Real>
void convert(const std::byte* from_bytes, std::byte* to_bytes, std::int64_t elements,
             const RowConverter::AllConstants& all) {
  const auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* to = reinterpret_cast<To*>(to_bytes);
  const auto& constants = constants_in<Real>(all);
  if constexpr (std::is_same_v<From, To>) {
    if (all.identity) {
      std::memcpy(to, from, static_cast<std::size_t>(elements) * sizeof(To));
      return;
    }
  }
  if (constants.shift.size() == 1) {
    convert_with_one(from, to, elements, constants);
  } else {
    convert_with_many(from, to, elements, constants);
  }
}

// Repeats one period per channel up to some hundred elements, so that few channels do not cause short loops.
template <class Real>
std::vector<Real> repeated(const std::vector<double>& channels) {
  const std::size_t times = channels.size() == 1 ? 1 : (255 + channels.size()) / channels.size();
  std::vector<Real> result;
  result.reserve(times * channels.size());
  for (std::size_t i = 0; i < times; ++i) {
    for (const double value : channels) result.push_back(static_cast<Real>(value));
  }
  return result;
}

template <class Real>
RowConverter::Constants<Real> constants_of(const Affine& affine) {
  return {repeated<Real>(affine.shift), repeated<Real>(affine.scale), repeated<Real>(affine.offset)};
}

bool is_identity(const Affine& affine) {
  const auto all = [](const std::vector<double>& values, double wanted) {
    return std::all_of(values.begin(), values.end(), [&](double value) { return value == wanted; });
  };
  return all(affine.shift, 0) && all(affine.scale, 1) && all(affine.offset, 0);
}

// Rows come in random order, so the processor cannot predict the next one.
void prefetch(const std::byte* begin, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kMost = 64 * kLine;
  for (std::size_t at = 0; at < std::min(bytes, kMost); at += kLine) __builtin_prefetch(begin + at);
}

template <class Body>
void for_each_row(const RowSource& source, std::int64_t first_row, std::span<const std::int64_t> rows,
                  const Body& body) {
  const auto row = [&](std::size_t i) {
    return source.data + static_cast<std::size_t>(first_row + rows[i]) * source.bytes;
  };
  constexpr std::size_t kAhead = 4;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) prefetch(row(i + kAhead), source.bytes);
    body(row(i));
  }
}

template <class From, class To>
void convert_labels(const std::byte* from, std::byte* to, std::int64_t elements, std::int64_t) {
  for (std::int64_t i = 0; i < elements; ++i) {
    reinterpret_cast<To*>(to)[i] = static_cast<To>(reinterpret_cast<const From*>(from)[i]);
  }
}

template <class From>
void convert_to_one_hot(const std::byte* from, std::byte* to, std::int64_t elements, std::int64_t depth) {
  auto* vectors = reinterpret_cast<float*>(to);
  std::fill_n(vectors, elements * depth, 0.0f);
  for (std::int64_t i = 0; i < elements; ++i) {
    vectors[i * depth + static_cast<std::int64_t>(reinterpret_cast<const From*>(from)[i])] = 1.0f;
  }
}

}  // namespace

RowConverter::RowConverter(const Array& from, const Affine& affine, DType to)
    : source_(from),
      constants_{constants_of<float>(affine), constants_of<double>(affine), is_identity(affine)},
      to_bytes_(size_of(to)) {
  convert_ = with_element_type(from.dtype, [&](auto* type) -> Convert {
    using From = std::remove_pointer_t<decltype(type)>;
    using Real = RealFor<From>;
    if (affine.needs_double()) {
      return to == DType::kBfloat16 ? &convert<From, bfloat16, double> : &convert<From, float, double>;
    }
    return to == DType::kBfloat16 ? &convert<From, bfloat16, Real> : &convert<From, float, Real>;
  });
}

void RowConverter::operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to,
                              std::int64_t taken) const {
  for_each_row(source_, first_row, rows, [&](const std::byte* row) {
    convert_(row, to, taken, constants_);
    to += static_cast<std::size_t>(taken) * to_bytes_;
  });
}

LabelConverter::LabelConverter(const Array& from, DType to, std::int64_t one_hot_depth)
    : source_(from), depth_(one_hot_depth) {
  to_bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(depth_, 1)) * size_of(to);
  convert_ = with_element_type(from.dtype, [&](auto* type) -> Convert {
    using From = std::remove_pointer_t<decltype(type)>;
    if (depth_ > 0) return &convert_to_one_hot<From>;
    return to == DType::kInt32 ? &convert_labels<From, std::int32_t> : &convert_labels<From, float>;
  });
}

void LabelConverter::operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to,
                                std::int64_t taken) const {
  for_each_row(source_, first_row, rows, [&](const std::byte* row) {
    convert_(row, to, taken, depth_);
    to += static_cast<std::size_t>(taken) * to_bytes_;
  });
}

}  // namespace mirrortrain::data
