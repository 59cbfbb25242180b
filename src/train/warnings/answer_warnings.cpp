#include "train/warnings/answer_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "data/example_classes.h"
#include "data/row_blocks.h"
#include "report/format.h"
#include "train/configuration/columns_key.h"

namespace mirrortrain {
namespace {

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

}  // namespace

void warn_of_answers(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                     const TrainingColumns& columns, const std::vector<std::int64_t>& of_label,
                     config::Errors& errors) {
  const std::vector<TrainingColumns::Group> groups = columns.groups();
  const bool is_alone = groups.size() < 2 && train.inputs().size() == 1;
  if (columns.rows() < 2 * TrainingColumns::kFewestRows || is_alone || train.labels(output).row_elements() != 1) return;
  if (train.outputs()[output].present) return;  // the numbers of a missing label say nothing
  const auto& source = checked.values().data.train;
  const auto classes =
      data::example_classes(train.outputs()[output], train.first_row(), columns.rows(), output, checked.wanted());
  const std::vector<double> numbers = numbers_of(train, output, columns.rows());
  const std::string of =
      checked.objectives.size() > 1 ? fmt::format(" of the output '{}'", checked.examples.labels[output].name) : "";
  const bool lists_features = std::string_view(key_of_columns(checked.values())) == "features";
  std::vector<std::string> answers;
  for (const TrainingColumns::Group& group : groups) {
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

}  // namespace mirrortrain
