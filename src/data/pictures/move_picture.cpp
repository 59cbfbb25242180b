#include "data/pictures/move_picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

namespace mirrortrain::data {
namespace {

/// The coordinate inside an axis for one beyond its edges, by TensorFlow's formulas.
float inside(float at, std::int64_t extent, FillMode mode) {
  const auto length = static_cast<float>(extent);
  if (mode == FillMode::kConstant) return at;
  if (mode == FillMode::kReflect && extent > 1) {
    const float period = 2 * length;
    if (at < 0) {
      at += period * std::trunc(-at / period);
      at = at < -length ? at + period : -at - 1;
    } else if (at > length - 1) {
      at -= period * std::trunc(at / period);
      if (at >= length) at = period - at - 1;
    }
  } else if (mode == FillMode::kWrap && extent > 1) {
    if (at < 0) {
      at += length * (std::trunc(-at / (length - 1)) + 1);
    } else if (at > length - 1) {
      at -= length * std::trunc(at / (length - 1));
    }
  }
  return std::clamp(at, 0.0f, length - 1);
}

/// The pixels of a picture, extended beyond its edges.
class Around {
 public:
  Around(const float* pixels, const Extents& extents, float fill_value)
      : pixels_(pixels), extents_(extents), nothing_(static_cast<std::size_t>(extents.channels), fill_value) {}

  const float* at(float row, float column) const {
    const bool is_inside = row >= 0 && column >= 0 && row < static_cast<float>(extents_.height) &&
                           column < static_cast<float>(extents_.width);
    if (!is_inside) return nothing_.data();
    return pixels_ +
           (static_cast<std::int64_t>(row) * extents_.width + static_cast<std::int64_t>(column)) * extents_.channels;
  }

 private:
  const float* pixels_;
  const Extents& extents_;
  std::vector<float> nothing_;
};

template <std::int64_t kChannels>
void flip_line(const float* from, std::int64_t width, float* to) {
  for (std::int64_t x = 0; x < width; ++x) {
    std::memcpy(to + x * kChannels, from + (width - 1 - x) * kChannels, kChannels * sizeof(float));
  }
}

}  // namespace

void flip(const float* from, const Extents& extents, FlipMode mode, float* to) {
  const std::int64_t channels = extents.channels, line = extents.width * channels;
  for (std::int64_t y = 0; y < extents.height; ++y, to += line) {
    const float* row = from + (mode == FlipMode::kHorizontal ? y : extents.height - 1 - y) * line;
    if (mode == FlipMode::kVertical) {
      std::memcpy(to, row, static_cast<std::size_t>(line) * sizeof(float));
      continue;
    }
    if (channels == 3) {
      flip_line<3>(row, extents.width, to);
    } else if (channels == 1) {
      flip_line<1>(row, extents.width, to);
    } else {
      for (std::int64_t x = 0; x < extents.width; ++x) {
        std::copy_n(row + (extents.width - 1 - x) * channels, channels, to + x * channels);
      }
    }
  }
}

void crop(const float* from, const Extents& extents, std::int64_t top, std::int64_t left, const Extents& window,
          float* to) {
  const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, window.width);
  const std::int64_t end = std::clamp<std::int64_t>(extents.width - left, begin, window.width);
  const std::int64_t channels = extents.channels, line = window.width * channels;
  for (std::int64_t y = 0; y < window.height; ++y, to += line) {
    const std::int64_t row = top + y;
    if (row < 0 || row >= extents.height) {
      std::fill_n(to, line, 0.0f);
      continue;
    }
    std::fill_n(to, begin * channels, 0.0f);
    std::copy_n(from + (row * extents.width + left + begin) * channels, (end - begin) * channels,
                to + begin * channels);
    std::fill_n(to + end * channels, (window.width - end) * channels, 0.0f);
  }
}

AffineMap translation(float down, float right) { return {1, 0, -right, 0, 1, -down}; }

AffineMap rotation(const Extents& extents, float turn) {
  const float angle = turn * 2 * std::numbers::pi_v<float>;
  const float cosine = std::cos(angle), sine = std::sin(angle);
  const float x = 0.5f * static_cast<float>(extents.width - 1), y = 0.5f * static_cast<float>(extents.height - 1);
  return {cosine, -sine, x - x * cosine + y * sine, sine, cosine, y - x * sine - y * cosine};
}

AffineMap zoom(const Extents& extents, float height, float width) {
  const float x = 0.5f * static_cast<float>(extents.width - 1), y = 0.5f * static_cast<float>(extents.height - 1);
  return {width, 0, x * (1 - width), 0, height, y * (1 - height)};
}

AffineMap shear(float x, float y) { return {1, x, 0, y, 1, 0}; }

ProjectiveMap perspective(const Extents& extents, const std::array<std::array<float, 2>, 4>& corners) {
  const auto right = static_cast<double>(extents.width - 1), bottom = static_cast<double>(extents.height - 1);
  const std::array<std::array<double, 2>, 4> whole{{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}}};
  std::array<std::array<double, 9>, 8> rows{};  // of eight equations, the last column what they are to give
  for (std::size_t i = 0; i < 4; ++i) {
    const auto x = static_cast<double>(corners[i][0]), y = static_cast<double>(corners[i][1]);
    rows[2 * i] = {x, y, 1, 0, 0, 0, -whole[i][0] * x, -whole[i][0] * y, whole[i][0]};
    rows[2 * i + 1] = {0, 0, 0, x, y, 1, -whole[i][1] * x, -whole[i][1] * y, whole[i][1]};
  }
  for (std::size_t pivot = 0; pivot < 8; ++pivot) {  // Gauss and Jordan
    const auto largest =
        std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(pivot), rows.end(),
                         [&](const auto& a, const auto& b) { return std::abs(a[pivot]) < std::abs(b[pivot]); });
    std::swap(rows[pivot], *largest);
    if (std::abs(rows[pivot][pivot]) < 1e-12) return {1, 0, 0, 0, 1, 0, 0, 0};
    for (std::size_t row = 0; row < 8; ++row) {
      if (row == pivot) continue;
      const double times = rows[row][pivot] / rows[pivot][pivot];
      for (std::size_t i = pivot; i < 9; ++i) rows[row][i] -= times * rows[pivot][i];
    }
  }
  ProjectiveMap map;
  for (std::size_t i = 0; i < 8; ++i) map[i] = static_cast<float>(rows[i][8] / rows[i][i]);
  return map;
}

namespace {

/// The pixel at column x and row y comes from source(x, y), a column and a row.
template <class Source>
void move_by(const float* from, const Extents& extents, const Filling& filling, float* to, const Source& source) {
  const Around pixels(from, extents, static_cast<float>(filling.fill_value));
  const std::int64_t channels = extents.channels;
  for (std::int64_t y = 0; y < extents.height; ++y) {
    for (std::int64_t x = 0; x < extents.width; ++x, to += channels) {
      const auto [from_column, from_row] = source(x, y);
      const float column = inside(from_column, extents.width, filling.fill_mode);
      const float row = inside(from_row, extents.height, filling.fill_mode);
      if (filling.interpolation == MovedInterpolation::kNearest) {
        std::copy_n(pixels.at(std::round(row), std::round(column)), channels, to);
        continue;
      }
      const float top = std::floor(row), left = std::floor(column);
      const float down = row - top, right = column - left;
      const float *const top_left = pixels.at(top, left), *const top_right = pixels.at(top, left + 1);
      const float *const bottom_left = pixels.at(top + 1, left), *const bottom_right = pixels.at(top + 1, left + 1);
      for (std::int64_t c = 0; c < channels; ++c) {
        const float above = (1 - right) * top_left[c] + right * top_right[c];
        const float below = (1 - right) * bottom_left[c] + right * bottom_right[c];
        to[c] = (1 - down) * above + down * below;
      }
    }
  }
}

}  // namespace

void move(const float* from, const Extents& extents, const AffineMap& map, const Filling& filling, float* to) {
  move_by(from, extents, filling, to, [&](std::int64_t x, std::int64_t y) {
    const auto column = static_cast<float>(x), row = static_cast<float>(y);
    return std::pair(map[0] * column + map[1] * row + map[2], map[3] * column + map[4] * row + map[5]);
  });
}

void move(const float* from, const Extents& extents, const ProjectiveMap& map, const Filling& filling, float* to) {
  move_by(from, extents, filling, to, [&](std::int64_t x, std::int64_t y) {
    const auto column = static_cast<float>(x), row = static_cast<float>(y);
    const float depth = map[6] * column + map[7] * row + 1;
    if (depth == 0) return std::pair(-1.0f, -1.0f);  // nowhere
    return std::pair((map[0] * column + map[1] * row + map[2]) / depth,
                     (map[3] * column + map[4] * row + map[5]) / depth);
  });
}

void displace(const float* from, const Extents& extents, const float* right, const float* down, const Filling& filling,
              float* to) {
  move_by(from, extents, filling, to, [&](std::int64_t x, std::int64_t y) {
    const std::int64_t pixel = y * extents.width + x;
    return std::pair(static_cast<float>(x) + right[pixel], static_cast<float>(y) + down[pixel]);
  });
}

void change_contrast(const float* from, const Extents& extents, float factor, const std::array<double, 2>& range,
                     float* to) {
  const std::int64_t channels = extents.channels, pixels = extents.height * extents.width;
  const auto least = static_cast<float>(range[0]), largest = static_cast<float>(range[1]);
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t i = 0; i < pixels; ++i) sum += static_cast<double>(from[i * channels + c]);
    const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
    for (std::int64_t i = c; i < pixels * channels; i += channels) {
      to[i] = std::clamp((from[i] - mean) * factor + mean, least, largest);
    }
  }
}

}  // namespace mirrortrain::data
