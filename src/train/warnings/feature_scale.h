#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spread.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// How many examples in memory are looked at: unintended data show early.
inline constexpr std::int64_t kExamplesOfScale = 10'000;

/// Statistics of one feature's values, as far as checked.
struct FeatureColumn {
  Spread spread;
  double least = 0, most = 0;
  bool is_whole = true;  ///< whether all values are whole numbers

  void add(double value);
  double mean() const { return spread.mean(); }
  double deviation() const { return spread.deviation(); }
};

/// Of each number of an input's examples, as they are read: of the first ones, or of some where they are read from
/// files one by one.
std::vector<FeatureColumn> feature_columns(const data::Dataset& dataset, std::size_t input);
/// The largest absolute value.
double largest_of(const std::vector<FeatureColumn>& columns);

/// By input: the largest absolute value of each number of the last axis or, where these are many, of all together, as
/// they are read. Empty for pictures in files, whose range is known, and for numbers of words or tokens.
using FeatureSizes = std::vector<std::vector<double>>;
/// Of the first examples.
FeatureSizes feature_sizes(const CheckedConfiguration& checked, const data::Dataset& examples);

/// Whether a layer that reads the input takes features of any scale.
bool is_normalized_by_layer(const CheckedConfiguration& checked, std::size_t input);
/// Whether anything between file and the layers that read the input normalizes features or puts them into bins,
/// whatever their scale.
bool is_normalized(const CheckedConfiguration& checked, std::size_t input);
/// All rescaling transforms of an input as one: scale and offset. For images, those before and after other transforms
/// are combined alike.
std::optional<data::Rescaling> rescaling_of(const CheckedConfiguration& checked, std::size_t input);

/// Whether features are pixels of 0 to 255, whole or, resized, between whole numbers. `columns`: theirs.
bool are_bytes(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t input,
               const std::vector<FeatureColumn>& columns);
/// The transform that brings features that are far from 0 around 1: for bytes one that gives numbers from 0 to 1, for
/// others one that adapts to them; with `input:` where the model has several.
std::string scaling_to_write(const CheckedConfiguration& checked, std::size_t input, bool are_bytes);

/// What is said of features that are around 1 already, and that rescaling makes nearly 0; "" of others. `largest`:
/// their largest absolute value.
std::string rescaled_twice(const CheckedConfiguration& checked, std::size_t input, double largest);

/// The largest absolute value of the features of any input behind preprocessing, at least 1, among some examples; 1 for
/// normalized ones.
double largest_feature(const CheckedConfiguration& checked, const data::Dataset& train);

}  // namespace mirrortrain
