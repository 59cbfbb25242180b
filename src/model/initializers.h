#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/shape.h"
#include "config/section.h"

namespace mirrortrain {

/// The initial values of variables. Keras's definitions: the fans of a kernel [..., in, out] are its receptive field
/// times in and times out; normals are cut off at two standard deviations, and those scaled by fans widened so that the
/// variance is right.
namespace initializers {

/// variance = scale / fan, drawn from a uniform or a truncated normal distribution around 0.
struct VarianceScaling {
  enum class Fan { kIn, kAverage };
  enum class Distribution { kUniform, kTruncatedNormal };
  double scale;
  Fan fan;
  Distribution distribution;
};

struct GlorotUniform {
  static constexpr std::string_view kName = "glorot_uniform";
  static constexpr std::string_view kAliases = "xavier, xavier_uniform, glorot";
  static constexpr VarianceScaling kScaling{1, VarianceScaling::Fan::kAverage, VarianceScaling::Distribution::kUniform};
  static config::Section<GlorotUniform> section();
};

struct GlorotNormal {
  static constexpr std::string_view kName = "glorot_normal";
  static constexpr std::string_view kAliases = "xavier_normal";
  static constexpr VarianceScaling kScaling{1, VarianceScaling::Fan::kAverage,
                                            VarianceScaling::Distribution::kTruncatedNormal};
  static config::Section<GlorotNormal> section();
};

struct HeUniform {
  static constexpr std::string_view kName = "he_uniform";
  static constexpr std::string_view kAliases = "kaiming_uniform";
  static constexpr VarianceScaling kScaling{2, VarianceScaling::Fan::kIn, VarianceScaling::Distribution::kUniform};
  static config::Section<HeUniform> section();
};

struct HeNormal {
  static constexpr std::string_view kName = "he_normal";
  static constexpr std::string_view kAliases = "kaiming_normal, he";
  static constexpr VarianceScaling kScaling{2, VarianceScaling::Fan::kIn,
                                            VarianceScaling::Distribution::kTruncatedNormal};
  static config::Section<HeNormal> section();
};

struct LecunUniform {
  static constexpr std::string_view kName = "lecun_uniform";
  static constexpr VarianceScaling kScaling{1, VarianceScaling::Fan::kIn, VarianceScaling::Distribution::kUniform};
  static config::Section<LecunUniform> section();
};

struct LecunNormal {
  static constexpr std::string_view kName = "lecun_normal";
  static constexpr VarianceScaling kScaling{1, VarianceScaling::Fan::kIn,
                                            VarianceScaling::Distribution::kTruncatedNormal};
  static config::Section<LecunNormal> section();
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

}  // namespace initializers

using Initializer =
    std::variant<initializers::GlorotUniform, initializers::GlorotNormal, initializers::HeUniform,
                 initializers::HeNormal, initializers::LecunUniform, initializers::LecunNormal, initializers::Zeros,
                 initializers::Ones, initializers::Constant, initializers::RandomUniform, initializers::RandomNormal,
                 initializers::TruncatedNormal, initializers::Orthogonal>;

/// Fills `elements`, which have `shape`. Random ones are a function of the seed, the variable's name and the element.
void initialize(const Initializer& initializer, const Shape& shape, std::string_view variable_name, std::uint64_t seed,
                std::span<float> elements);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Initializer> {
  static constexpr std::string_view noun = "an initializer";
  static constexpr std::string_view tag = "type";
};
