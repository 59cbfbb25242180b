#include "survey/data_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "base/usable_cores.h"
#include "data/feeding/example_picture.h"
#include "data/loading/load.h"
#include "data/row_blocks.h"
#include "survey/missing_cells.h"

namespace mirrortrain::survey {
namespace {

using data::Array;
using data::Dataset;

/// More different numbers are quantities.
constexpr std::size_t kMostClasses = 1000;
constexpr std::int64_t kMostPictures = 36, kMostPixels = 128;

/// The names of the features that a table's columns are encoded as.
std::vector<std::string> names_of_columns(const data::AdaptedTable& table, const data::TableInput& input) {
  std::vector<std::string> names;
  for (const data::AdaptedColumn* const column : table.columns_of(input)) {
    const auto number = static_cast<std::size_t>(column->column);
    const std::string own = column->crossing       ? column->crossing->name
                            : table.header.empty() ? fmt::format("column {}", column->column)
                                                   : table.header[number];
    const std::int64_t width = column->width();
    for (std::int64_t i = 0; i < width; ++i) {
      const auto word = static_cast<std::size_t>(i);
      names.push_back(width == 1                    ? own
                      : word < column->words.size() ? fmt::format("{} = {}", own, column->words[word])
                      : column->words.empty()       ? fmt::format("{}, bin {}", own, i)
                                                    : own + ", other words");
    }
  }
  return names;
}

std::vector<std::string> names_of_numbers(const Array& array, const data::Features& input,
                                          const data::Adapted& adapted) {
  const Shape row = array.row_shape();
  const std::size_t count = moments_of(row);
  if (adapted.table) {
    const data::TableInput* const own = adapted.table->find_input(input.name);
    if (own != nullptr && std::holds_alternative<data::TableInput::Numbers>(own->content)) {
      std::vector<std::string> names = names_of_columns(*adapted.table, *own);
      if (names.size() == count) return names;
    }
  }
  if (count == 1) return {row.rank() == 0 ? "number" : "all numbers"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(fmt::format("{} {}", row.rank() == 3 ? "channel" : "feature", i));
  return names;
}

/// Finds what the labels of an output are while they are read.
class LabelStatistics {
 public:
  explicit LabelStatistics(std::size_t width) : moments_(std::max<std::size_t>(width, 1)) {}

  template <class T>
  void add(std::span<const T> labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) moments_[i].add(static_cast<double>(labels[i]));
    if (!are_classes_) return;
    const auto one = labels.size() == 1 ? class_of(static_cast<double>(labels[0])) : class_of_vector(labels);
    if (one) ++classes_[*one];
    are_classes_ = one && classes_.size() <= kMostClasses;
  }
  bool are_classes() const { return are_classes_ && !classes_.empty(); }
  const std::map<std::int64_t, std::int64_t>& classes() const { return classes_; }
  const std::vector<Moments>& moments() const { return moments_; }

 private:
  static std::optional<std::int64_t> class_of(double number) {
    constexpr double kMost = 1 << 24;
    if (number != std::floor(number) || std::abs(number) > kMost) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  /// Of a one-hot vector.
  template <class T>
  static std::optional<std::int64_t> class_of_vector(std::span<const T> labels) {
    std::optional<std::int64_t> found;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto number = static_cast<double>(labels[i]);
      if (number == 0) continue;
      if (number != 1 || found) return std::nullopt;
      found = static_cast<std::int64_t>(i);
    }
    return found;
  }

  std::vector<Moments> moments_;
  std::map<std::int64_t, std::int64_t> classes_;
  bool are_classes_ = true;
};

SurveyedOutput survey_labels(const Dataset& dataset, const data::Labels& labels, const data::Adapted& adapted) {
  const Array& array = labels.array;
  SurveyedOutput output{labels.name, std::string(name_of(array.dtype)), array.row_shape().text()};
  const auto width = static_cast<std::size_t>(array.row_elements());
  LabelStatistics found(width);
  data::with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    data::for_each_block<T>(array, dataset.first_row(), dataset.rows(),
                            [&](std::int64_t row, std::span<const T> block) {
                              for (; !block.empty(); block = block.subspan(width), ++row) {
                                if (labels.is_present(row)) {
                                  found.add(block.first(width));
                                } else {
                                  ++output.missing;
                                }
                              }
                              return true;
                            });
  });
  const std::vector<std::string>& names = adapted.classes_of(labels.name);
  if (found.are_classes()) {
    for (const auto& [number, count] : found.classes()) {
      const auto at = static_cast<std::size_t>(number);
      output.classes.emplace_back(number >= 0 && at < names.size() ? names[at] : std::to_string(number), count);
    }
    return output;
  }
  constexpr std::size_t kMostNumbers = 64;
  const std::size_t count = found.moments().size();
  if (count <= kMostNumbers) {
    for (std::size_t i = 0; i < count; ++i) {
      output.numbers.push_back({count == 1 ? "number" : fmt::format("number {}", i), found.moments()[i]});
    }
    return output;
  }
  output.numbers.push_back({"all numbers", {}});
  for (const Moments& moments : found.moments()) output.numbers.back().moments.add(moments);
  return output;
}

SurveyedSplit survey_split(const std::string& name, const Dataset& dataset, const data::Adapted& adapted,
                           const data::Csv* table, int threads, std::vector<ExampleMark>& marks) {
  SurveyedSplit split{name, dataset.rows()};
  if (dataset.left_out() != nullptr) split.left_out = dataset.left_out()->count();
  FeatureStatistics found = read_features(dataset, threads);
  for (std::size_t i = 0; i < dataset.inputs().size(); ++i) {
    const data::Features& input = dataset.inputs()[i];
    SurveyedInput one{input.name, input.array.origin, std::string(name_of(input.array.dtype)),
                      input.array.row_shape().text()};
    const std::vector<std::string> names = names_of_numbers(input.array, input, adapted);
    for (std::size_t k = 0; k < names.size(); ++k) one.numbers.push_back({names[k], found.inputs[i][k]});
    split.inputs.push_back(std::move(one));
  }
  for (const data::Labels& labels : dataset.outputs()) {
    split.outputs.push_back(survey_labels(dataset, labels, adapted));
  }
  if (table != nullptr) split.missing_cells = missing_cells(*table, adapted);
  split.remarks = dataset.remarks();
  marks = std::move(found.marks);
  sort_marks(marks);
  split.duplicates = duplicates_in(marks);
  return split;
}

std::string label_text(const Dataset& dataset, const SurveyedOutput& output, std::int64_t row,
                       const data::Adapted& adapted) {
  const data::Labels& labels = dataset.outputs().front();
  if (output.classes.empty() || labels.array.row_elements() != 1) return "";
  if (!labels.is_present(dataset.first_row() + row)) return "no label";
  return data::with_element_type(labels.array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<std::byte> scratch;
    const auto number =
        static_cast<double>(data::elements_of_row<T>(labels.array, dataset.first_row() + row, scratch).front());
    const std::vector<std::string>& names = adapted.classes_of(labels.name);
    const auto at = static_cast<std::size_t>(number);
    return number >= 0 && at < names.size() ? names[at] : number_text(number);
  });
}

void add_pictures(const Dataset& train, const CheckedConfiguration& checked, const data::Adapted& adapted,
                  DataSurvey& survey) {
  for (std::size_t i = 0; i < train.inputs().size(); ++i) {
    const Shape shape = checked.has_model() ? checked.examples.inputs[i].shape : Shape{};
    if (!data::holds_pictures(train, i, shape)) continue;
    for (std::int64_t row = 0; row < std::min(kMostPictures, train.rows()); ++row) {
      survey.pictures.push_back({data::encode_png(data::picture_of(train, i, row, kMostPixels)),
                                 label_text(train, survey.splits.front().outputs.front(), row, adapted)});
    }
    return;
  }
}

}  // namespace

std::string number_text(double number) { return fmt::format("{:.6g}", number); }

DataSurvey survey_data(const CheckedConfiguration& checked, bool wants_pictures) {
  const data::DataOptions& options = checked.values().data;
  const data::Splits splits = data::load(options, checked.values().seed, checked.wanted_examples());
  const int threads = static_cast<int>(options.threads.value_or(std::ssize(usable_cores())));
  DataSurvey survey;
  std::vector<std::vector<ExampleMark>> marks;
  const auto add = [&](data::Split split, const Dataset& dataset, const data::Csv* table) {
    survey.splits.push_back(
        survey_split(data::name_of(split), dataset, splits.adapted, table, threads, marks.emplace_back()));
  };
  // Of a part of train the columns are train's.
  add(data::Split::kTrain, splits.train, data::table_in(options.train.value));
  if (splits.validation) add(data::Split::kValidation, *splits.validation, data::table_in(*options.validation.value));
  if (splits.test) add(data::Split::kTest, *splits.test, data::table_in(*options.test.value));
  for (std::size_t first = 0; first < marks.size(); ++first) {
    for (std::size_t second = first + 1; second < marks.size(); ++second) {
      survey.shared.push_back(
          {survey.splits[first].name, survey.splits[second].name, duplicates_between(marks[first], marks[second])});
    }
  }
  if (wants_pictures) add_pictures(splits.train, checked, splits.adapted, survey);
  return survey;
}

}  // namespace mirrortrain::survey
