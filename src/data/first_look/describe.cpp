#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

#include "config/document.h"
#include "data/first_look/parts.h"
#include "data/loading/load.h"

namespace mirrortrain::data {
namespace {

/// More different labels are numbers rather than classes.
constexpr std::size_t kMostClasses = 1000;

/// Whole numbers from 0 that are few enough to be classes: how many; else 0.
std::int64_t classes_of(const Dataset& train) {
  std::set<double> different;
  return with_element_type(train.labels().dtype, [&](auto* type) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    if (train.labels().row_elements() != 1) return 0;
    for (const T label : train.labels().template span<T>()) {
      const auto value = static_cast<double>(label);
      if (value < 0 || value != std::floor(value) || value >= static_cast<double>(kMostClasses)) return 0;
      different.insert(value);
    }
    const auto largest = static_cast<std::int64_t>(*different.rbegin());
    // Numbers with gaps, and as many as there are examples, are counts rather than classes.
    return static_cast<std::int64_t>(different.size()) * 2 > largest && different.size() <= 100 ? largest + 1 : 0;
  });
}

/// Where labels that are numbers lie.
void describe_numbers(const Array& labels, DataLook& look) {
  std::set<double> different;
  double sum = 0, squares = 0;
  with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const T label : labels.span<T>()) {
      const auto value = static_cast<double>(label);
      sum += value;
      squares += value * value;
      if (different.size() < 3) different.insert(value);
    }
  });
  const auto count = static_cast<double>(std::max<std::int64_t>(labels.rows(), 1));
  look.label_mean = sum / count;
  look.label_deviation = std::sqrt(std::max(0.0, squares / count - look.label_mean * look.label_mean));
  if (different.size() != 2) return;
  look.remarks.push_back(fmt::format("the labels are {:g} and {:g} alone; if they are classes, write 0 and 1",
                                     *different.begin(), *different.rbegin()));
}

/// Whether every label is a vector of zeros with a single 1.
bool has_one_hot_labels(const Dataset& train) {
  const Array& labels = train.labels();
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
  look.features = splits.train.features().row_shape();
  look.names = splits.adapted.classes;
  look.classes = look.names.empty() ? classes_of(splits.train) : static_cast<std::int64_t>(look.names.size());
  look.label = splits.train.labels().row_shape();
  look.is_one_hot = look.names.empty() && has_one_hot_labels(splits.train);
  if (look.is_one_hot) look.classes = look.label[0];
  if (look.classes == 1) look.remarks.push_back("every example is of one class: there is nothing to distinguish yet");
  const bool is_of_bytes = splits.train.features().dtype == DType::kUint8 && look.features.rank() > 1;
  if (is_of_bytes || splits.train.source() != nullptr) {
    look.scale = 1.0 / 255;
  } else if (look.features.rank() == 1) {
    look.is_normalized = true;
  }
  if (look.classes == 0 && splits.train.labels().row_elements() == 1) describe_numbers(splits.train.labels(), look);
}

std::string yaml_text(const std::string& text) {
  std::string written = config::to_yaml(config::text_value(text));
  while (!written.empty() && written.back() == '\n') written.pop_back();
  return written;
}

}  // namespace mirrortrain::data
