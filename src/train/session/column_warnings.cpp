#include "train/session/column_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "base/utf8.h"
#include "data/example_classes.h"
#include "data/pictures/picture_steps.h"
#include "data/row_blocks.h"
#include "report/format.h"

namespace mirrortrain {
namespace {

/// Maximum number of rows to check.
constexpr std::int64_t kMostRows = 10'000;
/// Fewer rows are inconclusive.
constexpr std::int64_t kFewestRows = 10;
/// Fewer rows are checked where they would be more numbers and are not in memory.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 22;
/// Columns listed in a warning.
constexpr std::size_t kNamedColumns = 3;

/// The training data's features for an input as numbers, row by row, before preprocessing.
class Columns {
 public:
  /// `table`: the table that the input is from, and `own` what it has of it; both null for other data.
  Columns(const data::Dataset& train, std::size_t input, const data::AdaptedTable* table, const data::TableInput* own)
      : table_(table) {
    if (own != nullptr) known_ = table->columns_of(*own);
    rows_ = std::min(train.rows(), kMostRows);
    const data::Array& features = train.features(input);
    const auto width = static_cast<std::size_t>(features.row_elements());
    if (features.is_by_position())
      rows_ = std::min(rows_, std::max(kFewestRows, kMostNumbers / features.row_elements()));
    columns_.resize(width);
    for (auto& column : columns_) column.reserve(static_cast<std::size_t>(rows_));
    data::with_element_type(features.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      data::for_each_block<T>(features, train.first_row(), rows_, [&](std::int64_t, std::span<const T> block) {
        for (std::size_t i = 0; i < block.size(); ++i) columns_[i % width].push_back(static_cast<double>(block[i]));
        return true;
      });
    });
  }

  std::size_t count() const { return columns_.size(); }
  std::int64_t rows() const { return rows_; }
  const std::vector<double>& values(std::size_t feature) const { return columns_[feature]; }

  /// "column 2 ('height')", also for each of several features encoded from a column of words.
  std::string text_of(std::size_t feature) const {
    const data::AdaptedColumn* const column = column_of(feature);
    return column != nullptr ? table_->text_of(*column) : fmt::format("feature {} (counting from 0)", feature);
  }
  /// The column of the training file; none for a crossing and in other data.
  std::optional<std::int64_t> number_of(std::size_t feature) const {
    const data::AdaptedColumn* const column = column_of(feature);
    return column != nullptr && !column->crossing ? std::optional(column->column) : std::nullopt;
  }
  bool is_word(std::size_t feature) const {
    const data::AdaptedColumn* const column = column_of(feature);
    return column != nullptr && column->is_category();
  }

  /// The features that are made of one column of a table; each by itself in other data.
  struct Group {
    std::size_t first, count;
  };
  std::vector<Group> groups() const {
    std::vector<Group> groups;
    std::size_t first = 0;
    for (const data::AdaptedColumn* const column : known_) {
      groups.push_back({first, static_cast<std::size_t>(column->width())});
      first += groups.back().count;
    }
    for (; known_.empty() && first < count(); ++first) groups.push_back({first, 1});
    return groups;
  }
  /// One number for each row that stands for what the column has: of several features, the number of the one that is 1.
  std::vector<double> values(const Group& group) const {
    if (group.count == 1) return values(group.first);
    std::vector<double> numbers(static_cast<std::size_t>(rows_));
    for (std::size_t i = 1; i < group.count; ++i) {
      const std::vector<double> feature = values(group.first + i);
      for (std::size_t row = 0; row < numbers.size(); ++row) numbers[row] += static_cast<double>(i) * feature[row];
    }
    return numbers;
  }

 private:
  const data::AdaptedColumn* column_of(std::size_t feature) const {
    std::int64_t first = 0;
    for (const data::AdaptedColumn* const column : known_) {
      first += column->width();
      if (static_cast<std::int64_t>(feature) < first) return column;
    }
    return nullptr;
  }

  const data::AdaptedTable* table_;
  std::vector<const data::AdaptedColumn*> known_;  ///< the input's columns, in their order
  std::int64_t rows_ = 0;
  std::vector<std::vector<double>> columns_;
};

bool is_constant(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

/// Whether numbers are nonnegative integers and all different.
bool number_rows(const std::vector<double>& values) {
  std::set<double> different;
  return std::ranges::all_of(
      values, [&](double value) { return value >= 0 && value == std::floor(value) && different.insert(value).second; });
}

/// Whether distinct integers span little more than their count. Some of the rows may be in validation.
bool are_dense(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return most - least + 1 <= 1.5 * static_cast<double>(values.size());
}

/// pandas writes the row index as a first column without a name, or "Unnamed: 0" if that was read again.
bool has_no_name(const std::string& name) { return name.empty() || name.starts_with("Unnamed: "); }

void warn_of_rows(const Columns& columns, const data::AdaptedTable& table, const auto& source, config::Errors& errors) {
  if (table.lists_features || columns.rows() < 2) return;
  std::size_t feature = 0;
  for (const data::AdaptedColumn& column : table.features) {
    const std::size_t own = feature;
    feature += static_cast<std::size_t>(column.width());
    if (column.is_category()) continue;
    const bool unnamed = !table.header.empty() && has_no_name(table.header[static_cast<std::size_t>(column.column)]);
    const bool numbers = number_rows(columns.values(own)) &&
                         (unnamed || (columns.rows() >= kFewestRows && are_dense(columns.values(own))));
    if (!unnamed && (!numbers || table.features.size() == 1)) continue;
    const std::string what = table.text_of(column.column);
    if (unnamed && column.column == 0 && numbers) {
      errors.warn(source.place, source.path,
                  "the first column, which has no name, counts the rows and is taken for a feature; list the others in "
                  "'features', or save the table without it, as pandas does with index=False");
    } else if (unnamed) {
      errors.warn(source.place, source.path,
                  fmt::format("{} has no name and is taken for a feature; if it is none, as the index that pandas "
                              "writes, list the others in 'features'",
                              what));
    } else {
      errors.warn(
          source.place, source.path,
          fmt::format("{} numbers the rows, as it has another whole number in each, and is taken for a feature; "
                      "it says nothing of new rows: list the others in 'features'",
                      what));
    }
  }
}

/// `divides`: only those that divide by what they adapt.
bool has_adapted_normalization(const std::vector<data::PreprocessingStep>& steps, bool divides = false) {
  return std::ranges::any_of(steps, [&](const data::PreprocessingStep& step) {
    const auto* const normalization = std::get_if<data::Normalization>(&step);
    return normalization != nullptr && normalization->adapt && !(divides && normalization->invert);
  });
}

/// Whether an input's numbers themselves, rather than their bins, reach the model in the end.
bool are_numbers(const std::vector<data::PreprocessingStep>& steps) {
  return std::ranges::none_of(steps, data::is_of_pictures) && std::ranges::none_of(steps, data::as_binning);
}

/// Where a table's columns are listed.
const char* key_of_columns(const Configuration& values) {
  const auto* const table = data::table_in(values.data.train.value);
  return table != nullptr && !table->inputs.empty() ? "inputs" : "features";
}

void warn_of_constants(const Columns& columns, const std::vector<data::PreprocessingStep>& steps,
                       const Configuration& values, config::Errors& errors) {
  constexpr bool kDivides = true;
  if (columns.rows() < 2 || !has_adapted_normalization(steps, kDivides)) return;
  std::vector<std::string> constant;
  for (std::size_t i = 0; i < columns.count(); ++i) {
    if (is_constant(columns.values(i)) && !columns.is_word(i)) constant.push_back(columns.text_of(i));
  }
  if (constant.empty() || constant.size() == columns.count()) return;
  const bool is_one = constant.size() == 1;
  errors.warn(values.data.train.place, values.data.train.path,
              fmt::format("{} {} the same number in every training row, so that normalization divides by almost 0: any "
                          "other number becomes a huge one; leave {} out of '{}'",
                          report::first_of(constant, kNamedColumns), is_one ? "is" : "are each", is_one ? "it" : "them",
                          key_of_columns(values)));
}

/// Values that differ in the file may be equal as float32 in the model.
void warn_of_lost_differences(const CheckedConfiguration& checked, std::size_t input, const Columns& columns,
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
    if (before.size() > 1 && 2 * after.size() <= before.size()) lost.push_back(columns.text_of(i));
  }
  if (lost.empty()) return;
  errors.warn(values.data.train.place, values.data.train.path,
              fmt::format("numbers of {} that differ in the file are the same in float32, which has 7 digits; add "
                          "normalization: {{adapt: true{}}} to data.preprocessing, which subtracts their mean first",
                          report::first_of(lost, kNamedColumns), checked.input_option(input)));
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

void warn_of_stand_ins(const Columns& columns, const auto& source, config::Errors& errors) {
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

void warn_of_outliers(const Columns& columns, const auto& source, config::Errors& errors) {
  for (std::size_t i = 0; i < columns.count(); ++i) {
    const std::optional<Outlier> found = columns.is_word(i) ? std::nullopt : outlier(columns.values(i));
    if (!found) continue;
    errors.warn(source.place, source.path,
                fmt::format("{} has {:g} once, and its other numbers go from {:g} to {:g}, which normalization makes "
                            "nearly equal beside it; correct the number or remove its row",
                            columns.text_of(i), found->value, found->least, found->most));
  }
}

/// A word without its case and spaces.
std::string plain_word(const std::string& word) {
  std::string plain = in_lower_case(word);
  std::erase(plain, ' ');
  return plain;
}

/// Two words that differ only in case or spaces, as "'Yes' and 'yes'"; "" if there are none.
std::string same_words(const std::vector<std::string>& words) {
  std::map<std::string, std::string> seen;
  for (const std::string& word : words) {
    const auto [first, is_new] = seen.emplace(plain_word(word), word);
    if (!is_new) return fmt::format("'{}' and '{}'", first->second, word);
  }
  return "";
}

/// Not of the tokens of a vocabulary, where 'A' and 'a' are two on purpose.
void warn_of_spellings(const data::Adapted& adapted, const auto& source, config::Errors& errors) {
  if (std::holds_alternative<data::Text>(source.value)) return;
  for (const auto& [output, classes] : adapted.classes) {
    const std::string same = same_words(classes);
    if (same.empty()) continue;
    errors.warn(source.place, source.path,
                fmt::format("{} are two classes, and differ in case or spaces alone; if they are one, write them alike "
                            "in the data",
                            same));
  }
  if (!adapted.table) return;
  for (const data::AdaptedColumn& column : adapted.table->features) {
    const std::string same = same_words(column.words);
    if (same.empty()) continue;
    errors.warn(source.place, source.path,
                fmt::format("{}: {} are two words, and differ in case or spaces alone; if they are one, write them "
                            "alike in the data",
                            adapted.table->text_of(column.column), same));
  }
}

/// Whether values and labels map to each other one to one.
template <class Label>
bool are_one_to_one(const std::vector<double>& values, const std::vector<Label>& classes) {
  std::map<double, Label> class_of;
  std::map<Label, double> value_of;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fits = class_of.try_emplace(values[i], classes[i]).first->second == classes[i] &&
                      value_of.try_emplace(classes[i], values[i]).first->second == values[i];
    if (!fits) return false;
  }
  return class_of.size() > 1;
}

/// Whether words, by number, say which number the label is: not where nearly every row has a word of its own.
bool name_numbers(const std::vector<double>& words, const std::vector<double>& numbers) {
  const std::set<double> different(words.begin(), words.end());
  return 2 * different.size() <= words.size() && are_one_to_one(words, numbers);
}

/// Whether y is a linear function of x, up to rounding.
bool is_linear(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 && xy * xy / (xx * yy) > 1 - 1e-9;
}

std::vector<double> numbers_of(const data::Dataset& train, std::size_t output, std::int64_t rows) {
  const data::Array& labels = train.labels(output);
  return data::with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<double> numbers;
    data::for_each_block<T>(labels, train.first_row(), rows, [&](std::int64_t, std::span<const T> block) {
      numbers.insert(numbers.end(), block.begin(), block.end());
      return true;
    });
    return numbers;
  });
}

/// `of_label`: the table's columns of the output's labels.
void warn_of_answers(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                     const Columns& columns, const std::vector<std::int64_t>& of_label, config::Errors& errors) {
  const std::vector<Columns::Group> groups = columns.groups();
  const bool is_alone = groups.size() < 2 && train.inputs().size() == 1;
  if (columns.rows() < 2 * kFewestRows || is_alone || train.labels(output).row_elements() != 1) return;
  if (train.outputs()[output].present) return;  // the numbers of a missing label say nothing
  const auto& source = checked.values().data.train;
  const auto classes =
      data::example_classes(train.outputs()[output], train.first_row(), columns.rows(), output, checked.wanted());
  const std::vector<double> numbers = numbers_of(train, output, columns.rows());
  const std::string of =
      checked.objectives.size() > 1 ? fmt::format(" of the output '{}'", checked.examples.labels[output].name) : "";
  const bool lists_features = std::string_view(key_of_columns(checked.values())) == "features";
  std::vector<std::string> answers;
  for (const Columns::Group& group : groups) {
    const auto number = columns.number_of(group.first);
    if (number && std::ranges::count(of_label, *number) > 0) {
      errors.warn(
          source.place, source.path,
          fmt::format("{} is the label{} and is read as a feature too, so that the model is given what it is to "
                      "predict; {}",
                      columns.text_of(group.first), of,
                      lists_features ? "list the other columns in 'features'" : "leave it out of 'inputs'"));
      continue;
    }
    const std::vector<double> values = columns.values(group);
    const bool says_it = classes                        ? are_one_to_one(values, *classes)
                         : columns.is_word(group.first) ? name_numbers(values, numbers)
                                                        : is_linear(values, numbers);
    if (says_it) answers.push_back(columns.text_of(group.first));
  }
  if (answers.empty()) return;
  errors.warn(
      source.place, source.path,
      fmt::format("{} {} the label{} in other words: each of its values goes with one label; if it is not known "
                  "before the label is, {}",
                  report::first_of(answers, kNamedColumns), answers.size() == 1 ? "is" : "are each", of,
                  lists_features ? "list the other columns in 'features'" : "leave it out of 'inputs'"));
}

void warn_of_columns_of(const CheckedConfiguration& checked, const SplitsToCheck& splits, std::size_t input,
                        config::Errors& errors) {
  const data::Dataset& train = *splits.train;
  if (train.source(input) != nullptr || train.features(input).row_shape().rank() > 1) return;
  const data::AdaptedTable* const table =
      splits.adapted != nullptr && splits.adapted->table ? &*splits.adapted->table : nullptr;
  const data::TableInput* const own =
      table != nullptr ? table->find_input(checked.examples.inputs[input].name) : nullptr;
  if (own != nullptr && table->columns_of(*own).empty()) return;  // tokens
  const Columns columns(train, input, table, own);
  const Configuration& values = checked.values();
  if (own != nullptr) {
    warn_of_rows(columns, *table, values.data.train, errors);
    warn_of_stand_ins(columns, values.data.train, errors);
  }
  const std::vector<data::PreprocessingStep> steps = checked.steps_of(input);
  warn_of_constants(columns, steps, values, errors);
  if (has_adapted_normalization(steps)) warn_of_outliers(columns, values.data.train, errors);
  warn_of_lost_differences(checked, input, columns, errors);
  for (std::size_t i = 0; own != nullptr && i < train.outputs().size(); ++i) {
    const data::TableOutput* const labels = table->find_output(checked.examples.labels[i].name);
    warn_of_answers(checked, train, i, columns, labels != nullptr ? labels->labels : std::vector<std::int64_t>(),
                    errors);
  }
}

}  // namespace

void warn_of_columns(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors) {
  const data::Dataset& train = *splits.train;
  if (splits.adapted != nullptr) warn_of_spellings(*splits.adapted, checked.values().data.train, errors);
  for (std::size_t i = 0; i < train.inputs().size(); ++i) warn_of_columns_of(checked, splits, i, errors);
}

}  // namespace mirrortrain
