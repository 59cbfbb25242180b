#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "base/spread.h"
#include "config/document.h"
#include "data/first_look/parts.h"
#include "data/loading/load.h"

namespace mirrortrain::data {
namespace {

/// Labels that reach it are numbers rather than classes.
constexpr std::size_t kMostClasses = 1000;

/// Whole numbers that are taken for classes.
struct NumberedClasses {
  std::int64_t outputs = 0;  ///< one for each number from 0 to the largest; 0: the labels are no classes
  std::int64_t used = 0;     ///< different labels
};

/// The classes, if labels are nonnegative integers that are few enough to be classes.
NumberedClasses classes_of(const Dataset& train) {
  std::set<double> different;
  return with_element_type(train.labels(0).dtype, [&](auto* type) -> NumberedClasses {
    using T = std::remove_pointer_t<decltype(type)>;
    if (train.labels(0).row_elements() != 1) return {};
    for (const T label : train.labels(0).template span<T>()) {
      const auto value = static_cast<double>(label);
      if (value < 0 || value != std::floor(value) || value >= static_cast<double>(kMostClasses)) return {};
      different.insert(value);
    }
    const auto largest = static_cast<std::int64_t>(*different.rbegin());
    // Numbers with gaps, more than a hundred, or many that begin far from 0 are counts rather than classes.
    constexpr std::size_t kMany = 20;
    const bool begins_late = different.size() > kMany && *different.begin() > 1;
    const bool are_classes = static_cast<std::int64_t>(different.size()) * 2 > largest && different.size() <= 100;
    if (!are_classes || begins_late) return {};
    return {largest + 1, std::ssize(different)};
  });
}

/// What numbers that are taken for classes may mean otherwise.
void remark_on_numbered(const NumberedClasses& classes, DataLook& look) {
  const std::int64_t idle = classes.outputs - classes.used;
  if (idle > 0 && classes.used > 1) {
    look.remarks.push_back(
        fmt::format("{} of the {} outputs {} no example, as classes count from 0: number the labels 0 to {} in the "
                    "data, and write units: {}",
                    idle, classes.outputs, idle == 1 ? "has" : "have", classes.used - 1, classes.used));
  }
  constexpr std::int64_t kFewest = 4;  // of counts and grades
  if (classes.used >= kFewest && !look.inputs.front().has_pictures()) {
    look.remarks.push_back(
        "the labels are taken for classes; to predict them as numbers write units: 1, loss: mean_squared_error, "
        "metrics: [mean_absolute_error]");
  }
}

/// Statistics of labels that are numbers.
void describe_numbers(const Array& labels, DataLook& look) {
  constexpr std::size_t kFew = 10;  // distinct labels that may be classes
  constexpr std::int64_t kEach = 5;
  std::set<double> different;
  Spread spread;
  with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const T label : labels.span<T>()) {
      const auto value = static_cast<double>(label);
      spread.add(value);
      if (different.size() <= kFew) different.insert(value);
    }
  });
  if (spread.count() > 0) {
    look.label_mean = spread.mean();
    look.label_deviation = spread.deviation();
  }
  const bool may_be_classes = different.size() > 1 && different.size() <= kFew &&
                              labels.rows() >= kEach * std::ssize(different) &&
                              std::ranges::all_of(different, [](double value) { return value == std::floor(value); });
  if (!may_be_classes) return;
  look.remarks.push_back(
      fmt::format("the labels are {:g} alone and are taken for numbers; if they are classes, write "
                  "0 to {}",
                  fmt::join(different, ", "), different.size() - 1));
}

/// Whether every number is 0 or 1.
bool are_yes_or_no(const Array& labels) {
  return with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::ranges::all_of(labels.span<T>(), [](T label) { return label == T{0} || label == T{1}; });
  });
}

/// The minimum and maximum of the first examples.
std::pair<double, double> range_of(const Array& features) {
  constexpr std::int64_t kMostNumbers = 10'000'000;
  std::pair<double, double> range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const std::int64_t numbers = std::min(features.rows() * features.row_elements(), kMostNumbers);
  with_element_type(features.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const T number : features.span<T>().first(static_cast<std::size_t>(numbers))) {
      range.first = std::min(range.first, static_cast<double>(number));
      range.second = std::max(range.second, static_cast<double>(number));
    }
  });
  return range;
}

/// Describes how to scale an input's features to numbers around 1.
void describe_scale(const Dataset& train, std::size_t input, InputLook& look) {
  if (train.source(input) != nullptr) {
    look.scale = 1.0 / 255;
    return;
  }
  if (look.shape.rank() == 0) return;
  if (look.has_pictures() || (look.shape.rank() > 1 && train.features(input).dtype == DType::kUint8)) {
    const auto [least, largest] = range_of(train.features(input));
    if (least >= 0 && largest > 2 && largest <= 255) look.scale = 1.0 / 255;
    return;
  }
  look.is_normalized = true;
}

/// How many ids or tokens an input of a table has; 0 if its numbers are no such.
std::int64_t numbers_below(const AdaptedTable& table, const TableInput& input) {
  if (const auto* const texts = std::get_if<TableInput::Texts>(&input.content)) {
    constexpr std::int64_t kBytes = 256;
    return texts->vocabulary.empty() ? kBytes : std::ssize(texts->vocabulary);
  }
  const std::vector<const AdaptedColumn*> columns = table.columns_of(input);
  const bool is_index = columns.size() == 1 && columns.front()->encoding &&
                        std::holds_alternative<IndexEncoding>(*columns.front()->encoding);
  if (!is_index) return 0;
  return std::ssize(columns.front()->words) + (columns.front()->has_unknown() ? 1 : 0);
}

InputLook describe_input(const Splits& splits, std::size_t input) {
  InputLook look;
  const Features& features = splits.train.inputs()[input];
  look.name = features.name;
  look.shape = splits.train.features(input).row_shape();
  const TableInput* const of_table = splits.adapted.table ? splits.adapted.table->find_input(look.name) : nullptr;
  if (of_table != nullptr) look.numbers_below = numbers_below(*splits.adapted.table, *of_table);
  if (look.numbers_below == 0) describe_scale(splits.train, input, look);
  return look;
}

/// Whether all labels are one-hot vectors.
bool has_one_hot_labels(const Dataset& train) {
  const Array& labels = train.labels(0);
  const auto width = static_cast<std::size_t>(labels.row_elements());
  if (labels.row_shape().rank() != 1 || width < 2) return false;
  return with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto all = labels.template span<T>();
    for (std::size_t row = 0; row + width <= all.size(); row += width) {
      std::size_t ones = 0, zeros = 0;
      for (const T label : all.subspan(row, width)) {
        ones += label == T{1} ? 1 : 0;
        zeros += label == T{0} ? 1 : 0;
      }
      if (ones != 1 || zeros + 1 != width) return false;
    }
    return true;
  });
}

}  // namespace

void describe(const DataOptions& options, DataLook& look) {
  const Splits splits = load(options, 0, nullptr);
  look.examples = splits.train.rows();
  for (std::size_t i = 0; i < splits.train.inputs().size(); ++i) look.inputs.push_back(describe_input(splits, i));
  look.names = splits.adapted.classes_of("");
  const NumberedClasses numbered = look.names.empty() ? classes_of(splits.train) : NumberedClasses{};
  look.classes = look.names.empty() ? numbered.outputs : std::ssize(look.names);
  look.label = splits.train.labels(0).row_shape();
  look.is_one_hot = look.names.empty() && has_one_hot_labels(splits.train);
  if (look.is_one_hot) look.classes = look.label[0];
  if (look.classes > 2 && look.classes == look.examples && !look.is_one_hot) {
    look.remarks.push_back(
        "every example is of another class: is the label a name rather than what is to be predicted?");
  }
  if (look.classes == 0 && splits.train.labels(0).row_elements() > 1 && are_yes_or_no(splits.train.labels(0))) {
    look.remarks.push_back(
        "the labels are 0 and 1 alone, several for an example: if each is a yes or no, take loss: {type: "
        "binary_crossentropy, from_logits: true} and metrics: [binary_accuracy]");
  }
  if (!look.is_one_hot) remark_on_numbered(numbered, look);
  if (look.classes == 1) look.remarks.push_back("every example is of one class: there is nothing to distinguish yet");
  const Shape& features = look.inputs.front().shape;
  const bool has_channels_first = features.rank() == 3 && features[0] <= 4 && features[1] >= 8 && features[2] >= 8;
  if (has_channels_first) {
    look.remarks.push_back(fmt::format(
        "the features {} look like pictures with their channels first; saved as [examples, height, width, channels] "
        "they can go through convolutions",
        features.text()));
  }
  if (look.classes == 0 && splits.train.labels(0).row_elements() == 1) describe_numbers(splits.train.labels(0), look);
}

std::string yaml_text(const std::string& text) {
  std::string written = config::to_yaml(config::text_value(text));
  while (!written.empty() && written.back() == '\n') written.pop_back();
  return written;
}

}  // namespace mirrortrain::data
