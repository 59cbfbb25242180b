#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/shape.h"
#include "config/section.h"

namespace mirrortrain {

/// The initial values of variables. Keras's definitions: the fans of a kernel [..., in, out] are its receptive field
/// times in and times out; normals are cut off at two standard deviations, and those scaled by fans widened so that the
/// variance is right.
namespace initializers {

enum class Fan : std::uint8_t { kIn, kOut, kAverage };
enum class Distribution : std::uint8_t { kUniform, kTruncatedNormal, kUntruncatedNormal };

/// variance = scale / fan, drawn from a uniform or a normal distribution around 0.
struct Scaling {
  double scale;
  Fan fan;
  Distribution distribution;
};

/// The axes whose extents are the fans; both are given or neither.
struct FanAxes {
  std::optional<std::vector<std::int64_t>> input_axes, output_axes;
  static config::Section<FanAxes> section();
};

struct GlorotUniform : FanAxes {
  static constexpr std::string_view kName = "glorot_uniform";
  static constexpr std::string_view kAliases = "xavier, xavier_uniform, glorot";
  static constexpr Scaling scaling() { return {1, Fan::kAverage, Distribution::kUniform}; }
  static config::Section<GlorotUniform> section();
};

struct GlorotNormal : FanAxes {
  static constexpr std::string_view kName = "glorot_normal";
  static constexpr std::string_view kAliases = "xavier_normal";
  static constexpr Scaling scaling() { return {1, Fan::kAverage, Distribution::kTruncatedNormal}; }
  static config::Section<GlorotNormal> section();
};

struct HeUniform : FanAxes {
  static constexpr std::string_view kName = "he_uniform";
  static constexpr std::string_view kAliases = "kaiming_uniform";
  static constexpr Scaling scaling() { return {2, Fan::kIn, Distribution::kUniform}; }
  static config::Section<HeUniform> section();
};

struct HeNormal : FanAxes {
  static constexpr std::string_view kName = "he_normal";
  static constexpr std::string_view kAliases = "kaiming_normal, he";
  static constexpr Scaling scaling() { return {2, Fan::kIn, Distribution::kTruncatedNormal}; }
  static config::Section<HeNormal> section();
};

struct LecunUniform : FanAxes {
  static constexpr std::string_view kName = "lecun_uniform";
  static constexpr Scaling scaling() { return {1, Fan::kIn, Distribution::kUniform}; }
  static config::Section<LecunUniform> section();
};

struct LecunNormal : FanAxes {
  static constexpr std::string_view kName = "lecun_normal";
  static constexpr Scaling scaling() { return {1, Fan::kIn, Distribution::kTruncatedNormal}; }
  static config::Section<LecunNormal> section();
};

struct VarianceScaling : FanAxes {
  static constexpr std::string_view kName = "variance_scaling";
  double scale = 1;
  Fan mode = Fan::kIn;
  Distribution distribution = Distribution::kTruncatedNormal;
  Scaling scaling() const { return {scale, mode, distribution}; }
  static config::Section<VarianceScaling> section();
};

struct Zeros {
  static constexpr std::string_view kName = "zeros";
  static constexpr std::string_view kAliases = "zero";
  static config::Section<Zeros> section();
};

struct Ones {
  static constexpr std::string_view kName = "ones";
  static constexpr std::string_view kAliases = "one";
  static config::Section<Ones> section();
};

struct Constant {
  static constexpr std::string_view kName = "constant";
  double value = 0;
  static config::Section<Constant> section();
};

struct RandomUniform {
  static constexpr std::string_view kName = "random_uniform";
  static constexpr std::string_view kAliases = "uniform";
  double minval = -0.05, maxval = 0.05;
  static config::Section<RandomUniform> section();
};

struct RandomNormal {
  static constexpr std::string_view kName = "random_normal";
  static constexpr std::string_view kAliases = "normal";
  double mean = 0, stddev = 0.05;
  static config::Section<RandomNormal> section();
};

struct TruncatedNormal {
  static constexpr std::string_view kName = "truncated_normal";
  double mean = 0, stddev = 0.05;
  static config::Section<TruncatedNormal> section();
};

/// A random matrix with orthonormal rows or columns, whichever are fewer: rows are all axes but the last, columns the
/// last.
struct Orthogonal {
  static constexpr std::string_view kName = "orthogonal";
  double gain = 1;
  static config::Section<Orthogonal> section();
};

/// A matrix with `gain` on its diagonal and zeros elsewhere.
struct Identity {
  static constexpr std::string_view kName = "identity";
  static constexpr std::string_view kAliases = "eye, identity_initializer";
  double gain = 1;
  static config::Section<Identity> section();
};

enum class Side : std::uint8_t { kReal, kImaginary };
enum class WindowScaling : std::uint8_t { kDensity, kSpectrum };
enum class Window : std::uint8_t { kHann, kHamming, kBlackman, kBartlett, kBoxcar };

/// The kernel [steps, 1, frequencies] of a convolution that is a short-time Fourier transform, of 2 (frequencies - 1)
/// steps.
struct Stft {
  static constexpr std::string_view kName = "stft";
  Side side = Side::kReal;
  std::optional<Window> window = Window::kHann;
  std::optional<WindowScaling> scaling = WindowScaling::kDensity;
  bool periodic = false;
  static config::Section<Stft> section();
};

}  // namespace initializers

using Initializer =
    std::variant<initializers::GlorotUniform, initializers::GlorotNormal, initializers::HeUniform,
                 initializers::HeNormal, initializers::LecunUniform, initializers::LecunNormal, initializers::Zeros,
                 initializers::Ones, initializers::Constant, initializers::RandomUniform, initializers::RandomNormal,
                 initializers::TruncatedNormal, initializers::VarianceScaling, initializers::Orthogonal,
                 initializers::Identity, initializers::Stft>;

/// Of a layer that knows which axes of its kernel are those of the input and of the output: the initializer with the
/// fans of these, unless it names axes itself.
Initializer with_fan_axes(Initializer initializer, const std::vector<std::int64_t>& input_axes,
                          const std::vector<std::int64_t>& output_axes);

/// Throws Error for a variable of a shape that the initializer cannot fill. `name`: of the variable, for the message.
void check_initializer(const Initializer& initializer, std::string_view name, const Shape& shape);

/// Fills `elements`, which have `shape`. Random ones are a function of the seed, the variable's name and the element.
void initialize(const Initializer& initializer, const Shape& shape, std::string_view variable_name, std::uint64_t seed,
                std::span<float> elements);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Initializer> {
  static constexpr std::string_view noun = "an initializer";
  static constexpr std::string_view tag = "type";
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::initializers::Fan> {
  using E = mirrortrain::initializers::Fan;
  static constexpr auto names = std::to_array<std::pair<std::string_view, E>>(
      {{"fan_in", E::kIn}, {"fan_out", E::kOut}, {"fan_avg", E::kAverage}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::initializers::Distribution> {
  using E = mirrortrain::initializers::Distribution;
  static constexpr auto names =
      std::to_array<std::pair<std::string_view, E>>({{"uniform", E::kUniform},
                                                     {"truncated_normal", E::kTruncatedNormal},
                                                     {"untruncated_normal", E::kUntruncatedNormal}});
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"truncated_normal", "normal"}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::initializers::Side> {
  using E = mirrortrain::initializers::Side;
  static constexpr auto names =
      std::to_array<std::pair<std::string_view, E>>({{"real", E::kReal}, {"imag", E::kImaginary}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::initializers::WindowScaling> {
  using E = mirrortrain::initializers::WindowScaling;
  static constexpr auto names =
      std::to_array<std::pair<std::string_view, E>>({{"density", E::kDensity}, {"spectrum", E::kSpectrum}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::initializers::Window> {
  using E = mirrortrain::initializers::Window;
  static constexpr auto names = std::to_array<std::pair<std::string_view, E>>({{"hann", E::kHann},
                                                                               {"hamming", E::kHamming},
                                                                               {"blackman", E::kBlackman},
                                                                               {"bartlett", E::kBartlett},
                                                                               {"boxcar", E::kBoxcar}});
};
