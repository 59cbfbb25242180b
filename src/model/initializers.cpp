#include "model/initializers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/philox.h"

namespace mirrortrain {
namespace {

using initializers::Distribution;
using initializers::Fan;
using initializers::FanAxes;
using initializers::Scaling;

/// The random words of one variable.
class Stream {
 public:
  Stream(std::string_view variable_name, std::uint64_t seed)
      : philox_(Philox::with_key(seed)), stream_(hash_of_name(variable_name)) {}

  Philox::Words words(std::uint64_t block, std::uint32_t attempt = 0) const {
    return philox_(static_cast<std::uint32_t>(block), attempt | static_cast<std::uint32_t>(block >> 32) << 8,
                   static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32));
  }

 private:
  Philox philox_;
  std::uint64_t stream_;
};

void fill_uniform(const Stream& stream, double low, double high, std::span<float> elements) {
  for (std::size_t first = 0; first < elements.size(); first += 4) {
    const Philox::Words words = stream.words(first / 4);
    for (std::size_t i = first; i < std::min(first + 4, elements.size()); ++i) {
      elements[i] = static_cast<float>(low + (high - low) * uniform_from_bits(words.word[i - first]));
    }
  }
}

/// Box and Muller: two normals from two words. The first word is shifted away from zero, which has no logarithm.
std::array<double, 2> normals(std::uint32_t word0, std::uint32_t word1) {
  const double radius = std::sqrt(-2 * std::log((word0 + 0.5) * 0x1p-32));
  const double angle = 2 * std::numbers::pi * (word1 * 0x1p-32);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

void fill_normal(const Stream& stream, double mean, double stddev, std::span<float> elements) {
  for (std::size_t first = 0; first < elements.size(); first += 4) {
    const Philox::Words words = stream.words(first / 4);
    const auto a = normals(words.word[0], words.word[1]), b = normals(words.word[2], words.word[3]);
    const std::array<double, 4> draws{a[0], a[1], b[0], b[1]};
    for (std::size_t i = first; i < std::min(first + 4, elements.size()); ++i) {
      elements[i] = static_cast<float>(mean + stddev * draws[i - first]);
    }
  }
}

/// Redraws values beyond two standard deviations (4.6 % of the draws): four tries per block of words.
void fill_truncated_normal(const Stream& stream, double mean, double stddev, std::span<float> elements) {
  constexpr std::uint32_t kAttempts = 256;  // 4 x 256 draws outside: practically impossible
  for (std::size_t i = 0; i < elements.size(); ++i) {
    double draw = 3;
    for (std::uint32_t attempt = 0; std::abs(draw) > 2 && attempt < kAttempts; ++attempt) {
      const Philox::Words words = stream.words(i, attempt);
      for (const auto& pair : {normals(words.word[0], words.word[1]), normals(words.word[2], words.word[3])}) {
        for (const double candidate : pair) {
          if (std::abs(draw) > 2) draw = candidate;
        }
      }
    }
    elements[i] = static_cast<float>(mean + stddev * draw);
  }
}

double extent_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  double product = 1;
  for (const std::int64_t axis : axes) {
    product *= static_cast<double>(shape[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape.dims()) : axis)]);
  }
  return product;
}

double fan_of(Fan fan, const FanAxes& axes, const Shape& shape) {
  double in = 1, out = 1;
  if (axes.input_axes && axes.output_axes) {
    in = extent_of(shape, *axes.input_axes);
    out = extent_of(shape, *axes.output_axes);
  } else if (shape.rank() == 1) {
    in = out = static_cast<double>(shape[0]);
  } else if (shape.rank() >= 2) {
    double receptive_field = 1;
    for (std::size_t axis = 0; axis + 2 < shape.rank(); ++axis) receptive_field *= static_cast<double>(shape[axis]);
    in = receptive_field * static_cast<double>(shape[shape.rank() - 2]);
    out = receptive_field * static_cast<double>(shape.back());
  }
  return std::max(1.0, fan == Fan::kIn ? in : fan == Fan::kOut ? out : (in + out) / 2);
}

void fill_scaled(const Stream& stream, const Scaling& scaling, const FanAxes& axes, const Shape& shape,
                 std::span<float> elements) {
  // The standard deviation of a unit normal cut off at two.
  constexpr double kTruncatedStddev = 0.87962566103423978;
  const double variance = scaling.scale / fan_of(scaling.fan, axes, shape), limit = std::sqrt(3 * variance);
  switch (scaling.distribution) {
    case Distribution::kUniform: return fill_uniform(stream, -limit, limit, elements);
    case Distribution::kUntruncatedNormal: return fill_normal(stream, 0, std::sqrt(variance), elements);
    case Distribution::kTruncatedNormal: break;
  }
  fill_truncated_normal(stream, 0, std::sqrt(variance) / kTruncatedStddev, elements);
}

/// SciPy's windows: symmetric, or one period of a longer one.
double window_at(initializers::Window window, double at) {
  constexpr double kTurn = 2 * std::numbers::pi;
  switch (window) {
    case initializers::Window::kHann: return 0.5 - 0.5 * std::cos(kTurn * at);
    case initializers::Window::kHamming: return 0.54 - 0.46 * std::cos(kTurn * at);
    case initializers::Window::kBlackman: return 0.42 - 0.5 * std::cos(kTurn * at) + 0.08 * std::cos(2 * kTurn * at);
    case initializers::Window::kBartlett: return 1 - std::abs(2 * at - 1);
    case initializers::Window::kBoxcar: break;
  }
  return 1;
}

void fill_fourier(const initializers::Stft& options, const Shape& shape, std::span<float> elements) {
  const auto steps = static_cast<std::size_t>(shape[0]), frequencies = static_cast<std::size_t>(shape.back());
  const double length = 2.0 * (static_cast<double>(frequencies) - 1);
  const double span = static_cast<double>(steps) - (options.periodic ? 0 : 1);
  std::vector<double> window(steps, 1.0);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (options.window && steps > 1) window[i] = window_at(*options.window, static_cast<double>(i) / span);
    sum += std::abs(window[i]);
    squares += window[i] * window[i];
  }
  // As in Keras, only a window is scaled.
  const bool scales = options.window && options.scaling;
  const double by = !scales ? 1 : *options.scaling == initializers::WindowScaling::kDensity ? std::sqrt(squares) : sum;
  for (std::size_t i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < frequencies; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i) * static_cast<double>(k) / length;
      const double wave = options.side == initializers::Side::kReal ? std::cos(angle) : std::sin(angle);
      elements[i * frequencies + k] = static_cast<float>(wave * window[i] / by);
    }
  }
}

double dot(std::span<const double> a, std::span<const double> b) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += a[i + k] * b[i + k];
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Gram and Schmidt on normal vectors, which gives the Q of a QR decomposition whose R has a positive diagonal: the
/// distribution is uniform (Mezzadri, 2007).
void fill_orthogonal(const Stream& stream, double gain, std::int64_t last_axis, std::span<float> elements) {
  if (elements.empty()) return;
  fill_normal(stream, 0, 1, elements);
  const auto columns = static_cast<std::size_t>(last_axis), rows = elements.size() / columns;
  const std::size_t vectors = std::min(rows, columns), length = std::max(rows, columns);
  const auto element = [&](std::size_t vector, std::size_t i) -> float& {
    return elements[rows <= columns ? vector * columns + i : i * columns + vector];
  };
  std::vector<double> all(vectors * length);
  for (std::size_t vector = 0; vector < vectors; ++vector) {
    const std::span<double> own = std::span(all).subspan(vector * length, length);
    for (std::size_t i = 0; i < length; ++i) own[i] = element(vector, i);
    for (std::size_t earlier = 0; earlier < vector; ++earlier) {
      const std::span<const double> other = std::span(all).subspan(earlier * length, length);
      const double along = dot(own, other);
      for (std::size_t i = 0; i < length; ++i) own[i] -= along * other[i];
    }
    const double norm = std::sqrt(dot(own, own));
    for (std::size_t i = 0; i < length; ++i) {
      own[i] /= norm;
      element(vector, i) = static_cast<float>(gain * own[i]);
    }
  }
}

/// One overload for each initializer.
struct Filler {
  Stream stream;
  const Shape& shape;
  std::span<float> elements;

  template <class Scaled>
  requires std::is_base_of_v<FanAxes, Scaled>
  void operator()(const Scaled& scaled) const { fill_scaled(stream, scaled.scaling(), scaled, shape, elements); }
  void operator()(const initializers::Zeros&) const { std::ranges::fill(elements, 0.0f); }
  void operator()(const initializers::Ones&) const { std::ranges::fill(elements, 1.0f); }
  void operator()(const initializers::Constant& constant) const {
    std::ranges::fill(elements, static_cast<float>(constant.value));
  }
  void operator()(const initializers::RandomUniform& uniform) const {
    fill_uniform(stream, uniform.minval, uniform.maxval, elements);
  }
  void operator()(const initializers::RandomNormal& normal) const {
    fill_normal(stream, normal.mean, normal.stddev, elements);
  }
  void operator()(const initializers::TruncatedNormal& normal) const {
    fill_truncated_normal(stream, normal.mean, normal.stddev, elements);
  }
  void operator()(const initializers::Orthogonal& orthogonal) const {
    fill_orthogonal(stream, orthogonal.gain, shape.back(), elements);
  }
  void operator()(const initializers::Identity& identity) const {
    std::ranges::fill(elements, 0.0f);
    const auto columns = static_cast<std::size_t>(shape.back());
    for (std::size_t i = 0; i < columns && i * columns + i < elements.size(); ++i) {
      elements[i * columns + i] = static_cast<float>(identity.gain);
    }
  }
  void operator()(const initializers::Stft& options) const { fill_fourier(options, shape, elements); }
};

void check_axes(const FanAxes& axes, std::string_view name, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  for (const auto* listed : {&axes.input_axes, &axes.output_axes}) {
    if (!*listed) continue;
    for (const std::int64_t axis : **listed) {
      if (axis >= -rank && axis < rank) continue;
      throw Error(fmt::format("the initializer of the {} expected axes from {} to {} of its shape {}, found {}", name,
                              -rank, rank - 1, shape.text(), axis));
    }
  }
}

}  // namespace

Initializer with_fan_axes(Initializer initializer, const std::vector<std::int64_t>& input_axes,
                          const std::vector<std::int64_t>& output_axes) {
  std::visit(
      [&](auto& options) {
        if constexpr (std::is_base_of_v<FanAxes, std::decay_t<decltype(options)>>) {
          if (options.input_axes) return;
          options.input_axes = input_axes;
          options.output_axes = output_axes;
        }
      },
      initializer);
  return initializer;
}

void check_initializer(const Initializer& initializer, std::string_view name, const Shape& shape) {
  if (std::holds_alternative<initializers::Orthogonal>(initializer) && shape.rank() < 2) {
    throw Error(
        fmt::format("the initializer orthogonal makes matrices; expected another one for the {}, whose shape is {}",
                    name, shape.text()));
  }
  if (std::holds_alternative<initializers::Identity>(initializer) && shape.rank() != 2) {
    throw Error(
        fmt::format("the initializer identity makes a matrix; expected another one for the {}, whose shape is {}", name,
                    shape.text()));
  }
  const bool is_kernel = shape.rank() == 3 && shape[1] == 1 && shape[2] > 1;
  if (std::holds_alternative<initializers::Stft>(initializer) && !is_kernel) {
    throw Error(
        fmt::format("the initializer stft makes kernels [steps, 1, frequencies] of 2 or more frequencies; expected "
                    "another one for the {}, whose shape is {}",
                    name, shape.text()));
  }
  std::visit(
      [&](const auto& options) {
        if constexpr (std::is_base_of_v<FanAxes, std::decay_t<decltype(options)>>) check_axes(options, name, shape);
      },
      initializer);
}

void initialize(const Initializer& initializer, const Shape& shape, std::string_view variable_name, std::uint64_t seed,
                std::span<float> elements) {
  std::visit(Filler{Stream(variable_name, seed), shape, elements}, initializer);
}

}  // namespace mirrortrain
