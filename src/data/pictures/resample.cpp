#include "data/pictures/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// A weight as a function of the distance from a pixel's center, 0 from `radius` on.
struct Kernel {
  float radius = 0;
  float (*weight)(float distance, float radius) = nullptr;
};

float triangle(float x, float) { return std::max(0.0f, 1 - x); }

float keys_cubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return (1.5f * x - 2.5f) * x * x + 1;
}

float lanczos(float x, float radius) {
  constexpr float kPi = std::numbers::pi_v<float>, kAlmostNothing = 1e-3f;
  if (x > radius) return 0;
  if (x <= kAlmostNothing) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

Kernel kernel_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kBicubic: return {2, keys_cubic};
    case Interpolation::kLanczos3: return {3, lanczos};
    case Interpolation::kLanczos5: return {5, lanczos};
    default: return {1, triangle};
  }
}

class TapsBuilder {
 public:
  explicit TapsBuilder(std::int64_t most) { taps_.most = most; }

  /// Adds weights, normalized to a sum of one.
  void add(std::int64_t first, std::span<const float> weights) {
    float sum = 0;
    for (const float weight : weights) sum += weight;
    const float scale = std::abs(sum) > 1e-35f ? 1 / sum : 0;
    taps_.first.push_back(first);
    taps_.count.push_back(std::ssize(weights));
    for (const float weight : weights) taps_.weights.push_back(weight * scale);
    taps_.weights.resize(taps_.first.size() * static_cast<std::size_t>(taps_.most));
  }
  Resampling::Taps take() { return std::move(taps_); }

 private:
  Resampling::Taps taps_;
};

Resampling::Taps nearest_taps(std::int64_t from, std::int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  TapsBuilder taps(1);
  for (std::int64_t i = 0; i < to; ++i) {
    const auto at = static_cast<std::int64_t>(std::floor((static_cast<float>(i) + 0.5f) * scale));
    taps.add(std::clamp<std::int64_t>(at, 0, from - 1), std::array{1.0f});
  }
  return taps.take();
}

/// Distances are rounded as in TensorFlow's table of the kernel, so that the pixels are equal.
Resampling::Taps bicubic_taps(std::int64_t from, std::int64_t to) {
  constexpr float kTableSize = 1024;
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  TapsBuilder taps(4);
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f, floor = std::floor(at);
    const float share = std::nearbyint((at - floor) * kTableSize) / kTableSize;
    const std::array all = {keys_cubic(share + 1, 2), keys_cubic(share, 2), keys_cubic(1 - share, 2),
                            keys_cubic(2 - share, 2)};
    const std::int64_t first = static_cast<std::int64_t>(floor) - 1;
    const std::int64_t begin = std::max<std::int64_t>(first, 0), end = std::min(first + 4, from);
    taps.add(begin,
             std::span(all).subspan(static_cast<std::size_t>(begin - first), static_cast<std::size_t>(end - begin)));
  }
  return taps.take();
}

Resampling::Taps kernel_taps(std::int64_t from, std::int64_t to, const Kernel& kernel, bool antialias) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float widening = antialias ? std::max(scale, 1.0f) : 1.0f, reach = kernel.radius * widening;
  TapsBuilder taps(std::min(2 * static_cast<std::int64_t>(std::ceil(reach)) + 1, from));
  std::vector<float> weights;
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale;
    const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(at - reach - 0.5f)), 0, from - 1);
    const auto last = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(at + reach - 0.5f)), 0, from - 1);
    weights.clear();
    for (std::int64_t k = first; k <= last; ++k) {
      weights.push_back(kernel.weight(std::abs((static_cast<float>(k) + 0.5f - at) / widening), kernel.radius));
    }
    taps.add(first, weights);
  }
  return taps.take();
}

Resampling::Taps taps_of(std::int64_t from, std::int64_t to, Interpolation interpolation, bool antialias) {
  if (interpolation == Interpolation::kNearest) return nearest_taps(from, to);
  if (interpolation == Interpolation::kBicubic && !antialias) return bicubic_taps(from, to);
  return kernel_taps(from, to, kernel_of(interpolation), antialias);
}

/// Computes each line, of `elements` numbers, as a weighted sum of lines.
void add_lines(const Resampling::Taps& taps, const float* from, std::int64_t elements, float* to) {
  const float* weights = taps.weights.data();
  for (std::size_t i = 0; i < taps.first.size(); ++i, to += elements, weights += taps.most) {
    const float* line = from + taps.first[i] * elements;
    for (std::int64_t e = 0; e < elements; ++e) to[e] = weights[0] * line[e];
    for (std::int64_t k = 1; k < taps.count[i]; ++k) {
      line += elements;
      for (std::int64_t e = 0; e < elements; ++e) to[e] += weights[k] * line[e];
    }
  }
}

}  // namespace

Resampling::Resampling(const Extents& from, std::int64_t height, std::int64_t width, Interpolation interpolation,
                       bool antialias)
    : from_(from),
      to_{height, width, from.channels},
      is_plain_bilinear_(interpolation == Interpolation::kBilinear && !antialias) {
  if (is_plain_bilinear_ || from_ == to_) return;
  rows_ = taps_of(from.height, height, interpolation, antialias);
  columns_ = taps_of(from.width, width, interpolation, antialias);
}

void Resampling::operator()(const float* from, float* to) const {
  if (from_ == to_) {
    std::memcpy(to, from, static_cast<std::size_t>(to_.elements()) * sizeof(float));
    return;
  }
  if (is_plain_bilinear_) {
    return resize_bilinear({from, static_cast<std::size_t>(from_.elements())}, from_.height, from_.width, to_.height,
                           to_.width, {to, static_cast<std::size_t>(to_.elements())});
  }
  thread_local std::vector<float> lines;
  lines.resize(static_cast<std::size_t>(to_.height * from_.width * from_.channels));
  add_lines(rows_, from, from_.width * from_.channels, lines.data());
  for (std::int64_t row = 0; row < to_.height; ++row) {
    add_lines(columns_, lines.data() + row * from_.width * from_.channels, from_.channels,
              to + row * to_.width * to_.channels);
  }
}

}  // namespace mirrortrain::data
