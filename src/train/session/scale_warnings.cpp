#include "train/session/scale_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "data/row_blocks.h"
#include "data/sources/abilities.h"

namespace mirrortrain {
namespace {

/// Maximum number of rows to check: unintended data show early.
constexpr std::int64_t kRows = 10'000;
/// The same for rows that are read individually from their files.
constexpr std::int64_t kRowsOfFiles = 32;

/// Statistics of one feature's values, as far as checked.
struct Column {
  double sum = 0, squares = 0, least = 0, most = 0;
  std::int64_t rows = 0;

  void add(double value) {
    sum += value;
    squares += value * value;
    least = rows == 0 ? value : std::min(least, value);
    most = rows == 0 ? value : std::max(most, value);
    ++rows;
  }
  double deviation() const {
    const double mean = sum / static_cast<double>(rows);
    return std::sqrt(std::max(0.0, squares / static_cast<double>(rows) - mean * mean));
  }
};

std::vector<Column> columns_of(const data::Dataset& dataset, std::size_t input) {
  const data::Array& features = dataset.features(input);
  const auto width = static_cast<std::size_t>(features.row_elements());
  std::vector<Column> columns(width);
  if (const data::ExampleSource* const files = dataset.source(input)) {
    const std::int64_t rows = std::min(dataset.rows(), kRowsOfFiles);
    std::vector<float> row(width);
    for (std::int64_t i = 0; i < rows; ++i) {
      files->read(dataset.first_row() + i * dataset.rows() / rows, row);
      for (std::size_t k = 0; k < width; ++k) columns[k].add(static_cast<double>(row[k]));
    }
    return columns;
  }
  const std::int64_t rows = std::min(dataset.rows(), kRows);
  data::with_element_type(features.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    data::for_each_block<T>(features, dataset.first_row(), rows, [&](std::int64_t, std::span<const T> block) {
      for (std::size_t i = 0; i < block.size(); ++i) columns[i % width].add(static_cast<double>(block[i]));
      return true;
    });
  });
  return columns;
}

/// Whether anything between file and the layers that read the input normalizes features or puts them into bins,
/// whatever their scale.
bool is_normalized(const CheckedConfiguration& checked, std::size_t input) {
  for (const data::PreprocessingStep& step : checked.steps_of(input)) {
    const auto* const normalization = config::get_if<data::Normalization>(&step);
    if (data::as_binning(step) != nullptr || (normalization != nullptr && !normalization->invert)) return true;
  }
  if (checked.examples.inputs[input].numbers_below > 0) return true;
  const ModelOptions& options = *checked.values().model;
  config::Errors reported;
  const Wiring wiring = wire_layers(options, reported);
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const bool reads = wiring.used[i] && std::ranges::count(wiring.sources[i], static_cast<int>(input)) > 0;
    if (reads && type_name(options.layers[i].value).ends_with("normalization")) return true;
  }
  return false;
}

/// All rescaling transforms of an input as one: scale and offset. For images, those before and after other transforms
/// are combined alike.
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

/// The largest absolute value of the features checked.
double largest_of(const std::vector<Column>& columns) {
  double largest = 0;
  for (const Column& column : columns) largest = std::max({largest, std::abs(column.least), std::abs(column.most)});
  return largest;
}

std::string rescaled_twice(const CheckedConfiguration& checked, std::size_t input, double largest) {
  const std::optional<data::Rescaling> rescaling = rescaling_of(checked, input);
  if (data::is_generated(checked.values().data.train.value)) return "";  // which have no scale
  if (!rescaling || rescaling->scale >= 0.1 || rescaling->offset != 0 || largest == 0 || largest > 1) return "";
  return fmt::format(
      "features{} reach {:g} in the file and only {:g} after rescaling; remove rescaling from data.preprocessing",
      checked.of_input(input), largest, largest * rescaling->scale);
}

/// Warns of the training data's scale. `columns`: theirs.
void warn_of_scale(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t input,
                   const std::vector<Column>& columns, config::Errors& errors) {
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
  for (const Column& column : columns) {
    const double deviation = column.deviation() * std::abs(scale);
    const double least_here = column.least * scale + offset, most_here = column.most * scale + offset;
    largest = std::max({largest, std::abs(least_here), std::abs(most_here)});
    lowest = std::min({lowest, least_here, most_here});
    most = std::max(most, deviation);
    if (deviation > 0) least = std::min(least, deviation);
  }
  const auto& source = checked.values().data.train;
  const std::string of = checked.of_input(input), option = checked.input_option(input);
  const bool are_equal = std::ranges::all_of(columns, [](const Column& column) { return column.least == column.most; });
  if (are_equal && columns.front().rows > 1) {
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
  // For bytes a scale is enough; other numbers may have a mean far from 0 compared to their deviation.
  const bool images = train.features(input).row_shape().rank() >= 2 && (rescaling || (lowest >= 0 && largest <= 255));
  if (images && largest > kLarge) {
    errors.warn(source.place, source.path,
                rescaling
                    ? fmt::format("features{} reach {:g} after rescaling; networks train best with features around 1: "
                                  "use a smaller scale in data.preprocessing",
                                  of, largest)
                    : fmt::format("features{} reach {:g}; networks train best with features around 1: add "
                                  "rescaling: {{scale: {:g}{}}} to data.preprocessing",
                                  of, largest, 1 / largest, option));
  } else if (!images && most > kApart * least) {
    errors.warn(source.place, source.path,
                fmt::format("features{} differ in scale: standard deviations are {:.3g} to {:.3g}; the largest will "
                            "dominate: add normalization: {{adapt: true{}}} to data.preprocessing",
                            of, least, most, option));
  } else if (!images && largest > kLarge) {
    errors.warn(source.place, source.path,
                fmt::format("features{} reach {:g}; networks train best with features around 1: add normalization: "
                            "{{adapt: true{}}} to data.preprocessing",
                            of, largest, option));
  }
}

/// Warns, for example, of bytes for training and numbers from 0 to 1 for a test, or vice versa. `of`: whose they are.
template <class LocatedSource>
void warn_of_other_scale(const LocatedSource& source, const std::string& of, std::size_t input, double of_train,
                         const data::Dataset* split, config::Errors& errors) {
  constexpr double kApart = 50;
  if (split == nullptr) return;
  const double of_split = largest_of(columns_of(*split, input));
  if (of_train < kApart * of_split && of_split < kApart * of_train) return;
  if (of_train == 0 || of_split == 0) return;
  errors.warn(source.place, source.path,
              fmt::format("features{} reach {:g}, and those of the training data {:g}; write both on one scale", of,
                          of_split, of_train));
}

}  // namespace

void RescaledTwice::add(const data::Dataset& examples) {
  if (has_enough()) return;
  const bool is_first = rows_ == 0;
  largest_.resize(checked_.examples.inputs.size());
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    if (!is_first && examples.source(i) != nullptr) continue;  // reading pictures takes time
    largest_[i] = std::max(largest_[i], largest_of(columns_of(examples, i)));
  }
  rows_ += examples.rows();
}

bool RescaledTwice::has_enough() const { return rows_ >= kRows; }

std::string RescaledTwice::text() const {
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    const std::string twice = rescaled_twice(checked_, i, largest_[i]);
    if (!twice.empty()) return twice;
  }
  return "";
}

void warn_of_scales(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors) {
  const data::DataOptions& data = checked.values().data;
  const bool is_part =
      data.validation.value && std::holds_alternative<data::ValidationFraction>(*data.validation.value);
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    // Once: reading pictures takes time.
    const std::vector<Column> columns = columns_of(*splits.train, i);
    warn_of_scale(checked, *splits.train, i, columns, errors);
    const double of_train = largest_of(columns);
    const std::string of = checked.of_input(i);
    warn_of_other_scale(data.test, of, i, of_train, splits.test, errors);
    if (!is_part) warn_of_other_scale(data.validation, of, i, of_train, splits.validation, errors);
  }
}

}  // namespace mirrortrain
