#include "train/warnings/feature_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "data/row_blocks.h"
#include "data/sources/abilities.h"
#include "model/wiring.h"

namespace mirrortrain {

void FeatureColumn::add(double value) {
  const bool is_first = spread.count() == 0;
  least = is_first ? value : std::min(least, value);
  most = is_first ? value : std::max(most, value);
  is_whole = is_whole && value == std::floor(value);
  spread.add(value);
}

std::vector<FeatureColumn> feature_columns(const data::Dataset& dataset, std::size_t input) {
  const data::Array& features = dataset.features(input);
  const auto width = static_cast<std::size_t>(features.row_elements());
  std::vector<FeatureColumn> columns(width);
  constexpr std::int64_t kExamplesOfFiles = 32;
  if (const data::ExampleSource* const files = dataset.source(input)) {
    const std::int64_t rows = std::min(dataset.rows(), kExamplesOfFiles);
    std::vector<float> row(width);
    for (std::int64_t i = 0; i < rows; ++i) {
      files->read(dataset.first_row() + i * dataset.rows() / rows, row);
      for (std::size_t k = 0; k < width; ++k) columns[k].add(static_cast<double>(row[k]));
    }
    return columns;
  }
  const std::int64_t rows = std::min(dataset.rows(), kExamplesOfScale);
  data::with_element_type(features.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    data::for_each_block<T>(features, dataset.first_row(), rows, [&](std::int64_t, std::span<const T> block) {
      for (std::size_t i = 0; i < block.size(); ++i) columns[i % width].add(static_cast<double>(block[i]));
      return true;
    });
  });
  return columns;
}

FeatureSizes feature_sizes(const CheckedConfiguration& checked, const data::Dataset& examples) {
  constexpr std::int64_t kMostChannels = 64;
  FeatureSizes sizes(checked.examples.inputs.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const data::Array& features = examples.features(i);
    const data::InputSpec& spec = checked.examples.inputs[i];
    const bool are_numbers = features.tokens == 0 && spec.numbers_below == 0 && spec.lookups.empty() &&
                             std::ranges::none_of(checked.steps_of(i), data::as_binning);
    if (examples.source(i) != nullptr || !are_numbers) continue;
    const std::int64_t last = features.row_shape().rank() == 0 ? 1 : features.row_shape().back();
    sizes[i].resize(last <= kMostChannels ? static_cast<std::size_t>(last) : 1);
    const std::vector<FeatureColumn> columns = feature_columns(examples, i);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      double& size = sizes[i][k % sizes[i].size()];
      size = std::max({size, std::abs(columns[k].least), std::abs(columns[k].most)});
    }
  }
  return sizes;
}

bool is_normalized_by_layer(const CheckedConfiguration& checked, std::size_t input) {
  if (checked.examples.inputs[input].numbers_below > 0) return true;
  const ModelOptions& options = *checked.values().model;
  const Wiring wiring = wiring_of(options);
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const bool reads = wiring.used[i] && std::ranges::count(wiring.sources[i], static_cast<int>(input)) > 0;
    if (reads && type_name(options.layers[i].value).ends_with("normalization")) return true;
  }
  return false;
}

bool is_normalized(const CheckedConfiguration& checked, std::size_t input) {
  for (const data::PreprocessingStep& step : checked.steps_of(input)) {
    const auto* const normalization = config::get_if<data::Normalization>(&step);
    if (data::as_binning(step) != nullptr || (normalization != nullptr && !normalization->invert)) return true;
  }
  return is_normalized_by_layer(checked, input);
}

std::optional<data::Rescaling> rescaling_of(const CheckedConfiguration& checked, std::size_t input) {
  std::optional<data::Rescaling> all;
  for (const data::PreprocessingStep& step : checked.steps_of(input)) {
    const auto* const one = config::get_if<data::Rescaling>(&step);
    if (one == nullptr) continue;
    if (!all) all.emplace();
    all->scale *= one->scale;
    all->offset = all->offset * one->scale + one->offset;
  }
  return all;
}

double largest_of(const std::vector<FeatureColumn>& columns) {
  double largest = 0;
  for (const FeatureColumn& column : columns)
    largest = std::max({largest, std::abs(column.least), std::abs(column.most)});
  return largest;
}

bool are_bytes(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t input,
               const std::vector<FeatureColumn>& columns) {
  constexpr std::size_t kPicture = 3;  // height, width and channels
  const data::Array& features = train.features(input);
  const bool are_in_range =
      std::ranges::all_of(columns, [](const FeatureColumn& column) { return column.least >= 0 && column.most <= 255; });
  if (!are_in_range || features.row_shape().rank() < 2) return false;
  if (features.dtype == DType::kUint8 || features.row_shape().rank() >= kPicture) return true;
  const bool are_windows = data::table_in(checked.values().data.train.value) != nullptr;
  return !are_windows && std::ranges::all_of(columns, &FeatureColumn::is_whole);
}

std::string scaling_to_write(const CheckedConfiguration& checked, std::size_t input, bool are_bytes) {
  const std::string option = checked.input_option(input);
  return are_bytes ? fmt::format("rescaling: {{scale: 0.00392156862745098{}}}", option)
                   : fmt::format("normalization: {{adapt: true{}}}", option);
}

std::string rescaled_twice(const CheckedConfiguration& checked, std::size_t input, double largest) {
  const std::optional<data::Rescaling> rescaling = rescaling_of(checked, input);
  if (data::is_generated(checked.values().data.train.value)) return "";  // which have no scale
  if (!rescaling || rescaling->scale >= 0.1 || rescaling->offset != 0 || largest == 0 || largest > 1) return "";
  return fmt::format(
      "features{} reach {:g} in the file and only {:g} after rescaling; remove rescaling from data.preprocessing",
      checked.of_input(input), largest, largest * rescaling->scale);
}

double largest_feature(const CheckedConfiguration& checked, const data::Dataset& train) {
  double largest = 1;
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    if (is_normalized(checked, i)) continue;
    const std::optional<data::Rescaling> rescaling = rescaling_of(checked, i);
    largest = std::max(largest, largest_of(feature_columns(train, i)) * std::abs(rescaling ? rescaling->scale : 1));
  }
  return largest;
}

}  // namespace mirrortrain
