#include "train/check_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <vector>

#include "base/error.h"
#include "data/adapt.h"
#include "data/feeder.h"
#include "data/load.h"
#include "report/format.h"
#include "train/run.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// Where a key of the resolved configuration came from.
config::Place place_of(const CheckedConfiguration& checked, const std::string& key) {
  const auto found = checked.read.document.origins.find(key);
  return found == checked.read.document.origins.end() ? config::Place{} : found->second;
}

/// Files and folders that do not exist. A pattern is looked at when it is read.
void check_files(const CheckedConfiguration& checked, config::Errors& errors) {
  for (const config::NamedFile& named : checked.read.document.files) {
    const bool is_pattern = named.file.find_first_of("*?[") != std::string::npos;
    const bool is_looked_at = named.path.starts_with("data.") || named.path.starts_with("model.");
    if (!is_looked_at || is_pattern || fs::exists(named.file)) continue;
    fs::path there = named.file;  // as far as there is anything
    while (there.has_relative_path() && !fs::exists(there)) there = there.parent_path();
    errors.add(named.place, named.path,
               fs::path(named.file).parent_path() == there
                   ? fmt::format("{} does not exist", named.file)
                   : fmt::format("{} does not exist: there is no folder {} in {}", named.file,
                                 fs::path(named.file).lexically_relative(there).begin()->string(), there.string()));
  }
}

/// Whether the split is more than what the file alone shows, which was checked with it.
template <class AnySource>
bool is_read_from_files(const AnySource& source) {
  return std::visit(
      [](const auto& held) {
        using Format = std::decay_t<decltype(held)>;
        return !std::is_same_v<Format, data::Inline> && !std::is_same_v<Format, data::Synthetic>;
      },
      source);
}

/// The split in the form that the model takes; nullopt where it is broken, which is added to `errors`.
std::optional<data::Dataset> read_split(const CheckedConfiguration& checked, data::Split split, const std::string& path,
                                        const config::Place& place, config::Errors& errors) {
  if (errors.concern(path)) return std::nullopt;
  try {
    auto loaded = data::load(checked.values().data, checked.values().seed, checked.wanted_input(), split, nullptr);
    std::optional<data::Dataset> dataset;
    if (loaded) dataset = std::move(loaded->dataset);
    const bool is_part = split == data::Split::kValidation &&
                         std::holds_alternative<data::ValidationFraction>(*checked.values().data.validation.value);
    if (dataset && dataset->left_out() != nullptr && !is_part) {
      errors.warn(place, path, left_out_text(*dataset->left_out(), LeftOutList::kFirst));
    }
    if (dataset && checked.has_model()) {
      const data::Feeder looked_at(*dataset, data::without_adapting(checked.values().data.preprocessing),
                                   checked.input);
    }
    return dataset;
  } catch (const Error& error) {
    errors.add(place, path, error.what());
    return std::nullopt;
  }
}

/// At most so many rows are looked at: what is hardly meant shows early.
constexpr std::int64_t kRows = 10'000;
/// Of those that are read from their files one by one.
constexpr std::int64_t kRowsOfFiles = 32;

/// What the values of one feature are, as far as they were looked at.
struct Column {
  double sum = 0, squares = 0, largest = 0;
  std::int64_t rows = 0;

  void add(double value) {
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
    ++rows;
  }
  double deviation() const {
    const double mean = sum / static_cast<double>(rows);
    return std::sqrt(std::max(0.0, squares / static_cast<double>(rows) - mean * mean));
  }
};

std::vector<Column> columns_of(const data::Dataset& dataset) {
  const data::Array& features = dataset.features();
  const auto width = static_cast<std::size_t>(features.row_elements());
  std::vector<Column> columns(width);
  if (const data::ExampleSource* const files = dataset.source()) {
    const std::int64_t rows = std::min(dataset.rows(), kRowsOfFiles);
    std::vector<float> row(width);
    for (std::int64_t i = 0; i < rows; ++i) {
      files->read(dataset.first_row() + i * dataset.rows() / rows, row);
      for (std::size_t k = 0; k < width; ++k) columns[k].add(static_cast<double>(row[k]));
    }
    return columns;
  }
  const auto rows = static_cast<std::size_t>(std::min(dataset.rows(), kRows));
  data::with_element_type(features.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto all = features.span<T>().subspan(static_cast<std::size_t>(dataset.first_row()) * width, rows * width);
    for (std::size_t i = 0; i < all.size(); ++i) columns[i % width].add(static_cast<double>(all[i]));
  });
  return columns;
}

/// Whether anything between file and first layer brings features to one scale.
bool is_scaled(const CheckedConfiguration& checked) {
  for (const data::PreprocessingStep& step : checked.values().data.preprocessing) {
    if (std::holds_alternative<data::Rescaling>(step) || std::holds_alternative<data::Normalization>(step)) return true;
  }
  const std::string& first = checked.model->layers.front().type;
  return first.ends_with("normalization") || first == "embedding";
}

void warn_of_scales(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors) {
  if (is_scaled(checked)) return;
  constexpr double kLarge = 100, kApart = 100;
  const std::vector<Column> columns = columns_of(train);
  double least = std::numeric_limits<double>::infinity(), most = 0, largest = 0;
  for (const Column& column : columns) {
    const double deviation = column.deviation();
    largest = std::max(largest, column.largest);
    most = std::max(most, deviation);
    if (deviation > 0) least = std::min(least, deviation);
  }
  const auto& source = checked.values().data.train;
  const bool images = train.features().row_shape().rank() >= 2;
  if (images && largest > kLarge) {
    errors.warn(source.place, source.path,
                fmt::format("features reach {:g}; networks train best with features around 1: add rescaling: {{scale: "
                            "{:g}}} to data.preprocessing",
                            largest, 1 / largest));
  } else if (!images && most > kApart * least) {
    errors.warn(source.place, source.path,
                fmt::format("features differ in scale: standard deviations are {:.3g} to {:.3g}; the largest will "
                            "dominate: add normalization to data.preprocessing",
                            least, most));
  } else if (!images && largest > kLarge) {
    errors.warn(source.place, source.path,
                fmt::format("features reach {:g}; networks train best with features around 1: add normalization to "
                            "data.preprocessing",
                            largest));
  }
}

void warn_of_labels(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors) {
  const data::Array& labels = train.labels();
  const std::int64_t width = labels.row_elements();
  if (width != 1 || data::find_one_hot(checked.values().data.preprocessing) != nullptr) return;
  std::set<double> different;  // stops soon where there are many
  data::with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto all =
        labels.span<T>().subspan(static_cast<std::size_t>(train.first_row()), static_cast<std::size_t>(train.rows()));
    for (const T label : all) {
      if (different.size() <= 1000) different.insert(static_cast<double>(label));
    }
  });
  const auto& source = checked.values().data.train;
  if (different.size() == 1 && train.rows() > 1) {
    errors.warn(
        source.place, source.path,
        fmt::format("every label is {:g}: there is nothing to tell apart; check the labels, and whether the data "
                    "are sorted by class",
                    *different.begin()));
  }
  const bool counts_from_0 =
      *different.begin() == 0 && *different.rbegin() == static_cast<double>(different.size() - 1);
  const auto& loss = *checked.values().loss;
  const bool whole = std::ranges::all_of(different, [](double label) { return label == std::floor(label); });
  const bool counts = std::holds_alternative<losses::Poisson>(loss.value);
  if (targets_of(loss.value) == Targets::kNumbers && !counts && whole && counts_from_0 && different.size() > 2 &&
      different.size() <= 1000 && train.rows() >= 5 * static_cast<std::int64_t>(different.size())) {
    errors.warn(loss.place, loss.path,
                fmt::format("the labels look like class numbers, 0 to {}, but this loss takes them for quantities; for "
                            "classes use sparse_categorical_crossentropy and {} units in the last layer",
                            different.size() - 1, different.size()));
  }
}

}  // namespace

void warn_of_data(const CheckedConfiguration& checked, const data::Dataset& train, const data::Dataset* validation,
                  config::Errors& errors) {
  const Configuration& values = checked.values();
  if (!checked.has_model()) return;
  if (values.data.global_batch_size > train.rows()) {
    errors.warn(
        place_of(checked, "data.global_batch_size"), "data.global_batch_size",
        fmt::format("{} is more than the {} training examples, so every step takes all of them; choose a smaller "
                    "batch",
                    values.data.global_batch_size, train.rows()));
  }
  constexpr std::int64_t kFew = 5;
  if (validation != nullptr && validation->rows() < kFew) {
    errors.warn(values.data.validation.place, values.data.validation.path,
                fmt::format("validation has {} example{}: its loss and metrics say little; use a larger part",
                            validation->rows(), validation->rows() == 1 ? "" : "s"));
  }
  warn_of_scales(checked, train, errors);
  warn_of_labels(checked, train, errors);
}

void check_data(const CheckedConfiguration& checked, config::Errors& errors) {
  const bool is_whole = errors.empty();  // else examples cannot be compared with the model
  check_files(checked, errors);
  if (!is_whole) return;
  const data::DataOptions& data = checked.values().data;
  std::optional<data::Dataset> train, validation;
  if (is_read_from_files(data.train.value)) {
    train = read_split(checked, data::Split::kTrain, data.train.path, data.train.place, errors);
  }
  const bool own_validation = data.validation.value && is_read_from_files(*data.validation.value);
  if (own_validation && (train || !std::holds_alternative<data::ValidationFraction>(*data.validation.value))) {
    validation = read_split(checked, data::Split::kValidation, data.validation.path, data.validation.place, errors);
  }
  if (data.test.value && is_read_from_files(*data.test.value)) {
    read_split(checked, data::Split::kTest, data.test.path, data.test.place, errors);
  }
  if (train) warn_of_data(checked, *train, validation ? &*validation : nullptr, errors);
}

void require_updates(const CheckedConfiguration& checked, std::int64_t steps) {
  const std::int64_t accumulated = checked.values().gradients.accumulate_steps;
  if (!checked.has_model() || steps == 0 || accumulated <= steps) return;
  const std::string place = place_of(checked, "gradients.accumulate_steps").text();
  throw UsageError(fmt::format(
      "{}gradients.accumulate_steps: {} is more than the {} step{} of this run, so no weight would ever change; use at "
      "most {}, or train longer",
      place.empty() || place.starts_with("--set") ? "" : place + ": ", accumulated, steps, steps == 1 ? "" : "s",
      steps));
}

}  // namespace mirrortrain
