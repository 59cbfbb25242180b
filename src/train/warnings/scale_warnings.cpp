#include "train/warnings/scale_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/spread.h"
#include "data/loading/load.h"
#include "data/pictures/picture_steps.h"
#include "train/warnings/feature_scale.h"

namespace mirrortrain {
namespace {

/// A rescaling of bytes that is written twice makes them nearly 0.
std::string rescaled_by_two(const CheckedConfiguration& checked, std::size_t input, double largest) {
  constexpr double kSmall = 0.05;  // with two scales near 1/255 it is 0.004
  const std::vector<data::PreprocessingStep> steps = checked.steps_of(input);
  const auto scales = std::ranges::count_if(steps, [](const data::PreprocessingStep& step) {
    const auto* const rescaling = config::get_if<data::Rescaling>(&step);
    return rescaling != nullptr && std::abs(rescaling->scale) < 0.1;
  });
  const std::optional<data::Rescaling> rescaling = rescaling_of(checked, input);
  if (scales < 2 || rescaling->offset != 0 || largest <= 1 || largest * std::abs(rescaling->scale) > kSmall) return "";
  return fmt::format(
      "features{} reach {:g} in the file and only {:.2g} after {} rescalings; keep one of them in data.preprocessing",
      checked.of_input(input), largest, largest * std::abs(rescaling->scale), scales);
}

/// Warns of a normalization by given numbers that are those of other data, such as of pixels from 0 to 1 for bytes.
void warn_of_given_normalization(const CheckedConfiguration& checked, std::size_t input, const data::Dataset& train,
                                 const std::vector<FeatureColumn>& columns, config::Errors& errors) {
  std::vector<data::PreprocessingStep> scaling;
  const data::Normalization* given = nullptr;
  const std::vector<data::PreprocessingStep> steps = checked.steps_of(input);
  for (const data::PreprocessingStep& step : steps) {
    const auto* const normalization = config::get_if<data::Normalization>(&step);
    if (data::as_binning(step) != nullptr || (normalization != nullptr && normalization->adapt)) return;
    if (normalization != nullptr && !normalization->invert) given = normalization;
    if (normalization != nullptr || config::holds_alternative<data::Rescaling>(step)) scaling.push_back(step);
  }
  if (given == nullptr || is_normalized_by_layer(checked, input)) return;
  const Shape shape = train.features(input).row_shape();
  constexpr bool kTrains = false;
  const data::Affine affine =
      data::fold(data::acting_steps(scaling, shape, checked.examples.inputs[input].shape, kTrains));
  Spread means;
  double variances = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  double least_read = least, most_read = most;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const FeatureColumn& column = columns[i];
    const std::size_t channel = i % affine.period();
    const auto after = [&](double value) {
      return (value - affine.shift[channel]) * affine.scale[channel] + affine.offset[channel];
    };
    means.add(after(column.mean()));
    variances += std::pow(column.deviation() * affine.scale[channel], 2);
    least = std::min({least, after(column.least), after(column.most)});
    most = std::max({most, after(column.least), after(column.most)});
    least_read = std::min(least_read, column.least);
    most_read = std::max(most_read, column.most);
  }
  const double deviation = std::hypot(std::sqrt(variances / static_cast<double>(columns.size())), means.deviation()),
               size = std::hypot(means.mean(), deviation);
  constexpr double kLarge = 10, kSmall = 0.03;
  if (size <= kLarge && (deviation >= kSmall || deviation == 0)) return;
  const bool are_bytes = size > kLarge && least_read >= 0 && most_read > 1 && most_read <= 255;
  errors.warn(given->mean.place, given->mean.path,
              fmt::format("features{} go from {:g} to {:g} in the file and from {:.3g} to {:.3g} after normalization, "
                          "which is given the mean and the variance of other numbers; {}, or write {} in its place",
                          checked.of_input(input), least_read, most_read, least, most,
                          are_bytes ? fmt::format("put {} before it", scaling_to_write(checked, input, are_bytes))
                                    : "give it those of these data",
                          scaling_to_write(checked, input, false)));
}

/// Warns of the training data's scale. `columns`: theirs.
void warn_of_scale(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t input,
                   const std::vector<FeatureColumn>& columns, config::Errors& errors) {
  warn_of_given_normalization(checked, input, train, columns, errors);
  if (is_normalized(checked, input)) return;
  if (train.features(input).tokens > 0) {
    errors.warn(checked.values().data.train.place, checked.values().data.train.path,
                fmt::format("the features{} are tokens, whose numbers are no sizes; let an embedding read them, with "
                            "input_dim: {}",
                            checked.of_input(input), train.features(input).tokens));
    return;
  }
  constexpr double kLarge = 100, kApart = 100;
  double least = std::numeric_limits<double>::infinity(), most = 0, largest = 0, lowest = 0;
  const std::optional<data::Rescaling> rescaling = rescaling_of(checked, input);
  const double scale = rescaling ? rescaling->scale : 1, offset = rescaling ? rescaling->offset : 0;
  for (const FeatureColumn& column : columns) {
    const double deviation = column.deviation() * std::abs(scale);
    const double least_here = column.least * scale + offset, most_here = column.most * scale + offset;
    largest = std::max({largest, std::abs(least_here), std::abs(most_here)});
    lowest = std::min({lowest, least_here, most_here});
    most = std::max(most, deviation);
    if (deviation > 0) least = std::min(least, deviation);
  }
  const auto& source = checked.values().data.train;
  const std::string of = checked.of_input(input);
  const bool are_equal =
      std::ranges::all_of(columns, [](const FeatureColumn& column) { return column.least == column.most; });
  if (are_equal && columns.front().spread.count() > 1) {
    errors.warn(source.place, source.path,
                fmt::format("the features{} of all examples are equal: there is nothing to learn from; check how they "
                            "were written",
                            of));
    return;
  }
  if (const std::string twice = rescaled_twice(checked, input, largest_of(columns)); !twice.empty()) {
    errors.warn(source.place, source.path, twice);
    return;
  }
  if (const std::string by_two = rescaled_by_two(checked, input, largest_of(columns)); !by_two.empty()) {
    errors.warn(source.place, source.path, by_two);
    return;
  }
  // Pixels have one scale, though those at the edges of pictures may hardly differ.
  const bool pixels = train.features(input).row_shape().rank() >= 2 && (rescaling || (lowest >= 0 && largest <= 255));
  const bool differ = !pixels && most > kApart * least;
  if (!differ && largest <= kLarge) return;
  const std::string advice = scaling_to_write(checked, input, are_bytes(checked, train, input, columns));
  if (differ) {
    errors.warn(source.place, source.path,
                fmt::format("features{} differ in scale: standard deviations are {:.3g} to {:.3g}; the largest will "
                            "dominate: add {} to data.preprocessing",
                            of, least, most, advice));
  } else if (rescaling) {
    errors.warn(source.place, source.path,
                fmt::format("features{} reach {:g} after rescaling; networks train best with features around 1: write "
                            "{} in place of rescaling in data.preprocessing",
                            of, largest, advice));
  } else {
    errors.warn(source.place, source.path,
                fmt::format("features{} reach {:g}; networks train best with features around 1: add {} to "
                            "data.preprocessing",
                            of, largest, advice));
  }
}

/// Warns, for example, of bytes for training and numbers from 0 to 1 for a test, or vice versa. `of`: whose they are.
template <class LocatedSource>
void warn_of_other_scale(const LocatedSource& source, const std::string& of, std::size_t input, double of_train,
                         const data::Dataset* split, config::Errors& errors) {
  constexpr double kApart = 50;
  if (split == nullptr) return;
  const double of_split = largest_of(data::at_its_place(source, [&] { return feature_columns(*split, input); }));
  if (of_train < kApart * of_split && of_split < kApart * of_train) return;
  if (of_train == 0 || of_split == 0) return;
  errors.warn(source.place, source.path,
              fmt::format("features{} reach {:g}, and those of the training data {:g}; write both on one scale", of,
                          of_split, of_train));
}

}  // namespace

void warn_of_scales(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors) {
  const data::DataOptions& data = checked.values().data;
  const bool is_part = data.part_of_train() != nullptr;
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    // Once: reading pictures takes time.
    const std::vector<FeatureColumn> columns =
        data::at_its_place(data.train, [&] { return feature_columns(*splits.train, i); });
    warn_of_scale(checked, *splits.train, i, columns, errors);
    const double of_train = largest_of(columns);
    const std::string of = checked.of_input(i);
    warn_of_other_scale(data.test, of, i, of_train, splits.test, errors);
    if (!is_part) warn_of_other_scale(data.validation, of, i, of_train, splits.validation, errors);
  }
}

}  // namespace mirrortrain
