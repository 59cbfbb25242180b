#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/round_up.h"
#endif

/// Vectors of floats of this build's native width, in the compiler's vector type.
namespace mirrortrain::cpu {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

/// `channels` in whole vectors.
constexpr std::int64_t padded(std::int64_t channels) { return round_up(channels, kLanes); }

/// Floats in a line of the caches.
constexpr std::int64_t kLine = 64 / sizeof(float);

inline Vec load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline void store(float* to, const Vec& value) { *reinterpret_cast<UnalignedVec*>(to) = value; }
/// A non-temporal store to an aligned address: other cores' copies of the line are invalidated without waiting. Call
/// `end_streaming` before others read it.
inline void stream(float* to, const Vec& value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, value);
#elif defined(__x86_64__)
  _mm_stream_ps(to, value);
#else
  store(to, value);
#endif
}
inline void end_streaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}
/// For a loop that reads several long arrays at once, in order: hardware follows one of them well, but not several.
/// What is prefetched may lie beyond the array.
inline void prefetch_ahead(const void* from) { __builtin_prefetch(static_cast<const char*>(from) + 2048); }
inline Vec broadcast(float value) { return value - Vec{}; }

#if defined(__AVX512F__)
inline __mmask16 first(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1u); }
/// The first `count` < kLanes elements, the rest zero. Nothing beyond is read.
inline Vec load_first(const float* from, std::int64_t count) { return _mm512_maskz_loadu_ps(first(count), from); }
inline void store_first(float* to, const Vec& value, std::int64_t count) {
  _mm512_mask_storeu_ps(to, first(count), value);
}
#else
inline Vec load_first(const float* from, std::int64_t count) {
  Vec value{};
  std::memcpy(&value, from, static_cast<std::size_t>(count) * sizeof(float));
  return value;
}
inline void store_first(float* to, const Vec& value, std::int64_t count) {
  std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(float));
}
#endif

/// All of a vector, for code that also has a `First`.
struct Whole {
  Vec load(const float* from) const { return cpu::load(from); }
  void store(float* to, const Vec& value) const { cpu::store(to, value); }
};
/// The first `count` elements of a vector: the last channels.
struct First {
  std::int64_t count;
  Vec load(const float* from) const { return load_first(from, count); }
  void store(float* to, const Vec& value) const { store_first(to, value, count); }
};

/// Calls visit(channel, Whole or First) for each vector of `channels`.
template <class Visit>
inline void each_vector(std::int64_t channels, const Visit& visit) {
  std::int64_t channel = 0;
  for (; channel + kLanes <= channels; channel += kLanes) visit(channel, Whole{});
  if (channel < channels) visit(channel, First{channels - channel});
}

/// max(0, value); NaN stays.
inline Vec relu(const Vec& value) { return value < 0.0f ? Vec{} : value; }

}  // namespace mirrortrain::cpu
