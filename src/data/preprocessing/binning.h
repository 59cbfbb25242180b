#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "data/hashes.h"
#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

// The transforms that put each number into a bin, with Keras's names and meanings. They act at every split.

/// What is made of the bins of an example.
enum class BinOutput : std::uint8_t {
  kInt,       ///< their numbers, from 0
  kOneHot,    ///< for each number, a 1 at its bin
  kMultiHot,  ///< a 1 at each bin that occurs along the first axis
  kCount,     ///< how often each bin occurs along the first axis
};

/// What they have in common. A transform that derives from it is one that bins.
struct Binning : OfInput {
  BinOutput output_mode = BinOutput::kInt;
  static config::Section<Binning> section();
};

struct Discretization : Binning {
  static constexpr std::string_view kName = "discretization";
  static constexpr std::string_view kAliases = "bucketize, k_bins_discretizer";
  /// Ascending; a number is in the bin above the last that is not larger. Null until adapted.
  config::Located<std::optional<std::vector<double>>> bin_boundaries;
  std::optional<std::int64_t> num_bins;  ///< adapted to the training data; see data/loading/adapt.h
  double epsilon = 0.01;
  /// How many there are; before it is adapted, at most.
  std::int64_t bins() const;
  static config::Section<Discretization> section();
};

struct Hashing : Binning {
  static constexpr std::string_view kName = "hashing";
  config::Located<std::int64_t> num_bins;
  std::optional<std::int64_t> mask_value;
  std::optional<Salt> salt;
  std::int64_t bins() const { return num_bins.value; }
  /// Whether bin 0 is that of the masked value alone.
  bool masks() const { return mask_value && bins() > 1; }
  static config::Section<Hashing> section();
};

/// What a transform makes of an example with as many bins, in Keras's shape.
Shape shape_after_bins(BinOutput output, std::int64_t bins, const Shape& example);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::BinOutput> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::BinOutput>>(
      {{"int", mirrortrain::data::BinOutput::kInt},
       {"one_hot", mirrortrain::data::BinOutput::kOneHot},
       {"multi_hot", mirrortrain::data::BinOutput::kMultiHot},
       {"count", mirrortrain::data::BinOutput::kCount}});
};
