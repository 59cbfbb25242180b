#include "train/warnings/column_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/utf8.h"
#include "data/sources/abilities.h"
#include "data/tables/parquet.h"
#include "report/format.h"
#include "train/configuration/columns_key.h"
#include "train/warnings/answer_warnings.h"
#include "train/warnings/number_warnings.h"
#include "train/warnings/training_columns.h"

namespace mirrortrain {
namespace {

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

void warn_of_rows(const TrainingColumns& columns, const data::AdaptedTable& table, const auto& source,
                  config::Errors& errors) {
  if (table.lists_features || columns.rows() < 2) return;
  std::size_t feature = 0;
  for (const data::AdaptedColumn& column : table.features) {
    const std::size_t own = feature;
    feature += static_cast<std::size_t>(column.width());
    if (column.is_category()) continue;
    const std::string name = table.header.empty() ? "0" : table.header[static_cast<std::size_t>(column.column)];
    if (data::is_index_of_pandas(name)) {
      errors.warn(source.place, source.path,
                  fmt::format("{} is the index that pandas saved with the rows, and is taken for a feature; list the "
                              "others in 'features', or save the table without it, as pandas does with index=False",
                              table.text_of(column.column)));
      continue;
    }
    const bool unnamed = has_no_name(name);
    const bool numbers =
        number_rows(columns.values(own)) &&
        (unnamed || (columns.rows() >= TrainingColumns::kFewestRows && are_dense(columns.values(own))));
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
  if (data::is_running_text(source.value)) return;
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

/// Whether a column of words is one number that stands for them, in an order that says nothing. The order of words that
/// are listed is chosen.
bool is_number_of_word(const data::AdaptedColumn& column) {
  constexpr std::int64_t kYesOrNo = 2;
  if (!column.is_category() || column.width() != 1) return false;
  const auto* const index = column.encoding ? std::get_if<data::IndexEncoding>(&*column.encoding) : nullptr;
  if (index == nullptr) return true;
  return !index->words && std::ssize(column.words) + (column.has_unknown() ? 1 : 0) > kYesOrNo;
}

/// Warns of numbers of words that the model takes for quantities.
void warn_of_numbered_words(const CheckedConfiguration& checked, std::size_t input, const data::AdaptedTable& table,
                            const data::TableInput& own, config::Errors& errors) {
  const data::InputSpec& spec = checked.examples.inputs[input];
  const std::vector<data::PreprocessingStep> steps = checked.steps_of(input);
  if (spec.numbers_below > 0 || !spec.lookups.empty() || std::ranges::any_of(steps, data::as_binning)) return;
  std::vector<std::string> columns;
  for (const data::AdaptedColumn* const column : table.columns_of(own)) {
    if (is_number_of_word(*column)) columns.push_back(table.text_of(*column));
  }
  if (columns.empty()) return;
  const auto& source = checked.values().data.train;
  errors.warn(source.place, source.path,
              fmt::format("{} {} read as the number of a word, which the model multiplies as if the third word were "
                          "three times the first; write one_hot in place of index, or give it an "
                          "input of its own that an embedding reads",
                          report::first_of(columns, kNamedColumns), columns.size() == 1 ? "is" : "are each"));
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
  const TrainingColumns columns(train, input, table, own);
  const Configuration& values = checked.values();
  if (own != nullptr) {
    warn_of_rows(columns, *table, values.data.train, errors);
    warn_of_numbered_words(checked, input, *table, *own, errors);
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
