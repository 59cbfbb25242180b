#include "train/warnings/number_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "data/pictures/picture_steps.h"
#include "report/format.h"
#include "train/configuration/columns_key.h"

namespace mirrortrain {
namespace {

bool is_constant(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

/// Whether numbers that were told apart no longer are. Whole numbers are counts, times and keys, of which each is
/// meant; of others with many digits some always fall together, which says nothing before half of them do.
bool loses_differences(const std::set<double>& before, const std::set<float>& after) {
  const bool are_whole = std::ranges::all_of(before, [](double value) { return value == std::floor(value); });
  return are_whole ? after.size() < before.size() : before.size() > 1 && 2 * after.size() <= before.size();
}

/// Whether an input's numbers themselves, rather than their bins, reach the model in the end.
bool are_numbers(const std::vector<data::PreprocessingStep>& steps) {
  return std::ranges::none_of(steps, data::is_of_pictures) && std::ranges::none_of(steps, data::as_binning);
}

/// A repeated number far outside the others, such as -999 for missing values.
std::optional<double> stand_in(const std::vector<double>& values) {
  constexpr std::int64_t kFewest = 2;
  constexpr double kApart = 3;  // times the range of the others
  for (const double mark : {-9999.0, -999.0, -99.0, 99.0, 999.0, 9999.0, 99999.0, -99999.0}) {
    if (std::ranges::count(values, mark) < kFewest) continue;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const double value : values) {
      if (value == mark) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const double distance = mark < least ? least - mark : mark - most;
    if (most > least && distance > kApart * (most - least)) return mark;
  }
  return std::nullopt;
}

/// A single number very far from all others; with the minimum and maximum of those.
struct Outlier {
  double value, least, most;
};

std::optional<Outlier> outlier(std::vector<double> values) {
  constexpr std::size_t kFewest = 20;
  constexpr double kApart = 1000;  // times the range of the others
  if (values.size() < kFewest) return std::nullopt;
  std::ranges::sort(values);
  const double least = values.front(), second = values[1], last_but_one = values[values.size() - 2],
               most = values.back();
  if (second < last_but_one && most - last_but_one > kApart * (last_but_one - least))
    return Outlier{most, least, last_but_one};
  if (second < last_but_one && second - least > kApart * (most - second)) return Outlier{least, second, most};
  return std::nullopt;
}

}  // namespace

bool has_adapted_normalization(const std::vector<data::PreprocessingStep>& steps, bool divides) {
  return std::ranges::any_of(steps, [&](const data::PreprocessingStep& step) {
    const auto* const normalization = config::get_if<data::Normalization>(&step);
    return normalization != nullptr && normalization->adapt && !(divides && normalization->invert);
  });
}

void warn_of_constants(const TrainingColumns& columns, const std::vector<data::PreprocessingStep>& steps,
                       const Configuration& values, config::Errors& errors) {
  constexpr bool kDivides = true;
  if (columns.rows() < 2 || !has_adapted_normalization(steps, kDivides)) return;
  std::vector<std::string> constant;
  for (std::size_t i = 0; i < columns.count(); ++i) {
    if (is_constant(columns.values(i)) && !columns.is_word(i)) constant.push_back(columns.text_of(i));
  }
  if (constant.empty() || constant.size() == columns.count()) return;
  const bool is_one = constant.size() == 1;
  errors.warn(
      values.data.train.place, values.data.train.path,
      fmt::format("{} {} the same number in every training row, so that normalization divides by almost 0: any "
                  "other number becomes a huge one; {}",
                  report::first_of(constant, kNamedColumns), is_one ? "is" : "are each", leaving_out(values, is_one)));
}

void warn_of_lost_differences(const CheckedConfiguration& checked, std::size_t input, const TrainingColumns& columns,
                              config::Errors& errors) {
  const std::vector<data::PreprocessingStep> steps = checked.steps_of(input);
  const Configuration& values = checked.values();
  if (has_adapted_normalization(steps) || !are_numbers(steps)) return;
  const Shape& shape = checked.examples.inputs[input].shape;
  constexpr bool kTrains = false;
  const data::Affine affine = data::fold(data::acting_steps(steps, shape, shape, kTrains));
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < columns.count(); ++i) {
    const std::size_t channel = i % affine.period();
    std::set<double> before;
    std::set<float> after;
    for (const double value : columns.values(i)) {
      before.insert(value);
      after.insert(
          static_cast<float>((value - affine.shift[channel]) * affine.scale[channel] + affine.offset[channel]));
    }
    if (loses_differences(before, after)) lost.push_back(columns.text_of(i));
  }
  if (lost.empty()) return;
  errors.warn(values.data.train.place, values.data.train.path,
              fmt::format("numbers of {} that differ in the file are the same in float32, which has 7 digits; add "
                          "normalization: {{adapt: true{}}} to data.preprocessing, which subtracts their mean first",
                          report::first_of(lost, kNamedColumns), checked.input_option(input)));
}

void warn_of_stand_ins(const TrainingColumns& columns, const config::Located<data::Source>& source,
                       config::Errors& errors) {
  for (std::size_t i = 0; i < columns.count(); ++i) {
    const std::optional<double> mark = columns.is_word(i) ? std::nullopt : stand_in(columns.values(i));
    if (!mark) continue;
    errors.warn(source.place, source.path,
                fmt::format("{} is {:g} in {} rows, far from its other numbers; if that stands for a missing value, "
                            "write missing_values: [\"{:g}\"] and missing: mean",
                            columns.text_of(i), *mark, std::ranges::count(columns.values(i), *mark), *mark));
    return;  // missing values in other columns are usually the same
  }
}

void warn_of_outliers(const TrainingColumns& columns, const config::Located<data::Source>& source,
                      config::Errors& errors) {
  for (std::size_t i = 0; i < columns.count(); ++i) {
    const std::optional<Outlier> found = columns.is_word(i) ? std::nullopt : outlier(columns.values(i));
    if (!found) continue;
    errors.warn(source.place, source.path,
                fmt::format("{} has {:g} once, and its other numbers go from {:g} to {:g}, which normalization makes "
                            "nearly equal beside it; correct the number or remove its row",
                            columns.text_of(i), found->value, found->least, found->most));
  }
}

}  // namespace mirrortrain
