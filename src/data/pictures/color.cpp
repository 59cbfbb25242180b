#include "data/pictures/color.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace mirrortrain::data {
namespace {

struct Limits {
  float least, largest;
  explicit Limits(const Range& range) : least(static_cast<float>(range[0])), largest(static_cast<float>(range[1])) {}
  float clip(float x) const { return std::clamp(x, least, largest); }
  float to_bytes(float x) const { return (x - least) / (largest - least) * 255; }
  float from_bytes(float x) const { return x / 255 * (largest - least) + least; }
};

template <class Change>
void each_number(const float* from, const Extents& extents, float* to, const Change& change) {
  std::transform(from, from + extents.elements(), to, change);
}

using Color = std::array<float, 3>;

template <class Change>
void each_color(const float* from, const Extents& extents, float* to, const Change& change) {
  for (std::int64_t i = 0; i < extents.height * extents.width; ++i, from += 3, to += 3) {
    const Color color = change(Color{from[0], from[1], from[2]});
    std::ranges::copy(color, to);
  }
}

/// Hue, saturation and value, the hue as a part of a turn.
Color to_hsv(Color rgb) {
  constexpr float kEpsilon = 1.1920929e-7f;
  for (float& x : rgb) x = std::abs(x) < kEpsilon ? 0 : x;
  const auto [r, g, b] = rgb;
  const float value = std::max({r, g, b}), range = value - std::min({r, g, b});
  const float norm = 1 / (6 * (range > 0 ? range : 1));
  const float hue = value == r ? norm * (g - b) : value == g ? norm * (b - r) + 2.0f / 6 : norm * (r - g) + 4.0f / 6;
  return {(range > 0 ? hue : 0) + (hue < 0 ? 1.0f : 0.0f), value > 0 ? range / value : 0, value};
}

Color to_rgb(const Color& hsv) {
  const auto [hue, saturation, value] = hsv;
  const float sixth = (hue - std::floor(hue)) * 6;
  const auto channel = [&](float pure) { return value * (1 - saturation + saturation * std::clamp(pure, 0.0f, 1.0f)); };
  return {channel(std::abs(sixth - 3) - 1), channel(2 - std::abs(sixth - 2)), channel(2 - std::abs(sixth - 4))};
}

/// Adds `weight` times the picture moved by whole pixels, with zeros beyond the edges.
void add_moved(const float* from, const Extents& extents, std::int64_t down, std::int64_t right, float weight,
               float* to) {
  const std::int64_t line = extents.width * extents.channels;
  const std::int64_t first_row = std::max<std::int64_t>(0, -down),
                     rows = extents.height - std::max<std::int64_t>(0, down);
  const std::int64_t first = std::max<std::int64_t>(0, -right) * extents.channels,
                     end = line - std::max<std::int64_t>(0, right) * extents.channels;
  for (std::int64_t row = first_row; row < rows; ++row) {
    const float* const read = from + (row + down) * line + right * extents.channels;
    for (std::int64_t i = first; i < end; ++i) to[row * line + i] += weight * read[i];
  }
}

/// Weights of a Gaussian that add up to 1.
std::vector<float> gaussian(std::int64_t size, float sigma) {
  std::vector<float> weights;
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const float x = (static_cast<float>(i) - static_cast<float>(size - 1) / 2) / sigma;
    weights.push_back(std::exp(-0.5f * x * x));
    sum += weights.back();
  }
  for (float& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

void change_brightness(const float* from, const Extents& extents, float delta, const Range& range, float* to) {
  each_number(from, extents, to, [delta, limits = Limits(range)](float x) { return limits.clip(x + delta); });
}

void change_saturation(const float* from, const Extents& extents, float factor, const Range& range, float* to) {
  each_color(from, extents, to, [factor, limits = Limits(range)](const Color& rgb) {
    Color hsv = to_hsv(rgb);
    hsv[1] = limits.clip(hsv[1] * factor);
    return to_rgb(hsv);
  });
}

void turn_hue(const float* from, const Extents& extents, float turn, const Range& range, float* to) {
  each_color(from, extents, to, [turn, limits = Limits(range)](Color rgb) {
    for (float& x : rgb) x = limits.to_bytes(x) / 255;
    Color hsv = to_hsv(rgb);
    hsv[0] += turn;
    if (hsv[0] > 1) hsv[0] -= 1;
    if (hsv[0] < 0) hsv[0] += 1;
    rgb = to_rgb(hsv);
    for (float& x : rgb) x = limits.from_bytes(std::clamp(x, 0.0f, 1.0f) * 255);
    return rgb;
  });
}

void mix_with_gray(const float* from, const Extents& extents, float share, const Range* range, float* to) {
  each_color(from, extents, to, [&](Color rgb) {
    const float gray = 0.2989f * rgb[0] + 0.5870f * rgb[1] + 0.1140f * rgb[2];
    for (float& x : rgb) {
      x += share * (gray - x);
      if (range != nullptr) x = Limits(*range).clip(x);
    }
    return rgb;
  });
}

void posterize(const float* from, const Extents& extents, int bits, const Range& range, float* to) {
  each_number(from, extents, to, [shift = 8 - bits, limits = Limits(range)](float x) {
    const std::size_t byte = place_of(limits.to_bytes(x), 255);
    return limits.from_bytes(static_cast<float>(byte >> shift << shift));
  });
}

void solarize(const float* from, const Extents& extents, float addition, float threshold, const Range& range,
              float* to) {
  each_number(from, extents, to, [=, limits = Limits(range)](float x) {
    const float sum = std::clamp(limits.to_bytes(x) + addition, 0.0f, 255.0f);
    return limits.from_bytes(sum < threshold ? sum : 255 - sum);
  });
}

void stretch_contrast(const float* from, const Extents& extents, const Range& range, float* to) {
  const Limits limits(range);
  for (std::int64_t c = 0; c < extents.channels; ++c) {
    float low = from[c], high = from[c];
    for (std::int64_t i = c; i < extents.elements(); i += extents.channels) {
      low = std::min(low, from[i]);
      high = std::max(high, from[i]);
    }
    for (std::int64_t i = c; i < extents.elements(); i += extents.channels) {
      to[i] = low == high ? from[i] : limits.from_bytes(std::clamp((from[i] - low) / (high - low) * 255, 0.0f, 255.0f));
    }
  }
}

void equalize(const float* from, const Extents& extents, std::int64_t bins, const Range& range, float* to) {
  const Limits limits(range);
  std::vector<std::int64_t> counted(static_cast<std::size_t>(bins));
  std::vector<float> table(counted.size());
  const auto bin_of = [&](float byte) { return place_of(byte / 255 * static_cast<float>(bins - 1), bins - 1); };
  for (std::int64_t c = 0; c < extents.channels; ++c) {
    std::ranges::fill(counted, 0);
    for (std::int64_t i = c; i < extents.elements(); i += extents.channels) ++counted[bin_of(limits.to_bytes(from[i]))];
    if (std::ranges::count_if(counted, [](std::int64_t count) { return count > 0; }) <= 1) {
      for (std::int64_t i = c; i < extents.elements(); i += extents.channels) to[i] = from[i];
      continue;
    }
    const std::int64_t all = extents.height * extents.width;
    const std::int64_t first = *std::ranges::find_if(counted, [](std::int64_t count) { return count > 0; });
    std::int64_t below = 0;
    for (std::size_t bin = 0; bin < counted.size(); ++bin) {
      below += counted[bin];
      const double share =
          static_cast<double>(below - first) * 255 / static_cast<double>(std::max<std::int64_t>(all - first, 1));
      table[bin] = static_cast<float>(std::clamp(std::nearbyint(share), 0.0, 255.0));
    }
    for (std::int64_t i = c; i < extents.elements(); i += extents.channels) {
      to[i] = limits.from_bytes(table[bin_of(limits.to_bytes(from[i]))]);
    }
  }
}

void sharpen(const float* from, const Extents& extents, float factor, const Range& range, float* to) {
  std::fill_n(to, extents.elements(), 0.0f);
  for (std::int64_t down = -1; down <= 1; ++down) {
    for (std::int64_t right = -1; right <= 1; ++right) {
      add_moved(from, extents, down, right, down == 0 && right == 0 ? 5.0f / 13 : 1.0f / 13, to);
    }
  }
  const Limits limits(range);
  for (std::int64_t i = 0; i < extents.elements(); ++i) {
    to[i] = limits.clip(from[i] + (1 - 2 * factor) * (to[i] - from[i]));
  }
}

void blur(const float* from, const Extents& extents, const std::array<std::int64_t, 2>& kernel_size,
          const std::array<float, 2>& sigma, const Range& range, float* to) {
  // As Keras has it, the first deviation is that across the width.
  const std::vector<float> along = gaussian(kernel_size[0], sigma[1]), across = gaussian(kernel_size[1], sigma[0]);
  thread_local std::vector<float> lines;
  lines.assign(static_cast<std::size_t>(extents.elements()), 0.0f);
  const auto middle = [](const std::vector<float>& weights) { return static_cast<std::int64_t>(weights.size()) / 2; };
  for (std::size_t i = 0; i < across.size(); ++i) {
    add_moved(from, extents, 0, static_cast<std::int64_t>(i) - middle(across), across[i], lines.data());
  }
  std::fill_n(to, extents.elements(), 0.0f);
  for (std::size_t i = 0; i < along.size(); ++i) {
    add_moved(lines.data(), extents, static_cast<std::int64_t>(i) - middle(along), 0, along[i], to);
  }
  each_number(to, extents, to, [limits = Limits(range)](float x) { return limits.clip(x); });
}

}  // namespace mirrortrain::data
