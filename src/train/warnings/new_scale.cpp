#include "train/warnings/new_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/warnings/feature_scale.h"

namespace mirrortrain {

NewScale::NewScale(const CheckedConfiguration& checked, const data::Adapted* adapted, const FeatureSizes& sizes)
    : checked_(checked) {
  if (adapted != nullptr) know_normalized(*adapted);
  for (std::size_t i = 0; i < std::min(sizes.size(), checked.examples.inputs.size()); ++i) {
    if (!sizes[i].empty()) of_training_.try_emplace(i, OfTraining{sizes[i], true});
  }
}

/// Those of inputs that are normalized before all else.
void NewScale::know_normalized(const data::Adapted& adapted) {
  const auto adapts = [](const data::PreprocessingStep& step) {
    const auto* const normalization = config::get_if<data::Normalization>(&step);
    return normalization != nullptr && normalization->adapt;
  };
  for (std::size_t i = 0; i < checked_.examples.inputs.size(); ++i) {
    const std::vector<data::PreprocessingStep> steps = checked_.steps_of(i);
    if (steps.empty() || !adapts(steps.front())) continue;  // others have statistics of changed numbers
    // Which of all normalizations it is.
    const std::string& name = checked_.examples.inputs[i].name;
    std::size_t number = 0;
    for (const data::PreprocessingStep& step : checked_.values().data.preprocessing) {
      if (!adapts(step)) continue;
      if (!data::steps_of_input({step}, name).empty()) break;
      ++number;
    }
    if (number >= adapted.steps.normalizations.size()) continue;
    const data::AdaptedNormalization& found = adapted.steps.normalizations[number];
    std::vector<double>& sizes = of_training_[i].sizes;
    for (std::size_t k = 0; k < found.mean.size(); ++k)
      sizes.push_back(std::sqrt(found.mean[k] * found.mean[k] + found.variance[k]));
  }
}

void NewScale::add(const data::Dataset& examples) {
  if (has_enough()) return;
  const bool is_first = rows_ == 0;
  largest_.resize(checked_.examples.inputs.size());
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    if (!is_first && examples.source(i) != nullptr) continue;  // reading pictures takes time
    const std::vector<FeatureColumn> columns = feature_columns(examples, i);
    largest_[i] = std::max(largest_[i], largest_of(columns));
    const auto statistics = of_training_.find(i);
    if (statistics == of_training_.end()) continue;
    std::vector<double>& channels = channels_[i];
    channels.resize(statistics->second.sizes.size());
    for (std::size_t k = 0; k < columns.size(); ++k) {
      double& channel = channels[k % channels.size()];
      channel = std::max({channel, std::abs(columns[k].least), std::abs(columns[k].most)});
    }
  }
  rows_ += examples.rows();
}

bool NewScale::has_enough() const { return rows_ >= kExamplesOfScale; }

std::string NewScale::text() const {
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    const std::string twice = rescaled_twice(checked_, i, largest_[i]);
    if (!twice.empty()) return twice + ", or write them as the training data";
    const std::string other = other_units(i);
    if (!other.empty()) return other;
  }
  return "";
}

std::string NewScale::other_units(std::size_t input) const {
  const auto statistics = of_training_.find(input);
  const auto channels = channels_.find(input);
  if (statistics == of_training_.end() || channels == channels_.end()) return "";
  constexpr double kApart = 50;
  constexpr std::int64_t kSome = 10;  // a few examples may be near 0
  double largest_of_train = 0, largest = 0, of_train = 0, here = 0;
  for (std::size_t k = 0; k < channels->second.size(); ++k) {
    const double size = statistics->second.sizes[k];
    largest_of_train = std::max(largest_of_train, size);
    largest = std::max(largest, channels->second[k]);
    const bool is_far = channels->second[k] > kApart * size && size > 0;
    // A rare word of a column is a 1 that is hardly ever seen.
    if (is_far && channels->second[k] > 1 && channels->second[k] * of_train >= here * size) {
      here = channels->second[k];
      of_train = size;
    }
  }
  if (here > 0) {
    return fmt::format(
        "a feature{} reaches {:g}, and in the training data it {} {:.3g}, as if it were in another unit; write both in "
        "one",
        checked_.of_input(input), here, statistics->second.are_largest ? "reaches" : "is around", of_train);
  }
  if (rows_ < kSome || largest == 0 || kApart * largest > largest_of_train) return "";
  return fmt::format(
      "features{} reach {:g}, and those of the training data {} {:.3g}, as if they were in another unit; write both in "
      "one",
      checked_.of_input(input), largest, statistics->second.are_largest ? "reach" : "are around", largest_of_train);
}

}  // namespace mirrortrain
