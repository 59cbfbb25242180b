#include "data/wrong_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

/// A range of an array's rows.
struct RowRange {
  const Array& array;
  std::int64_t first, count;
};

/// Calls take(WrongNumber) for each row for which judge(its elements) returns a message, until it returns false.
template <class Judge, class Take>
void for_each_wrong(const RowRange& range, const Judge& judge, const Take& take) {
  const auto per_row = static_cast<std::size_t>(range.array.row_elements());
  with_element_type(range.array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for_each_block<T>(range.array, range.first, range.count, [&](std::int64_t row, std::span<const T> elements) {
      for (; !elements.empty(); elements = elements.subspan(per_row), ++row) {
        std::string message = judge(elements.first(per_row));
        if (!message.empty() && !take(WrongNumber{row, std::move(message)})) return false;
      }
      return true;
    });
  });
}

template <class Judge>
std::optional<WrongNumber> first_wrong(const RowRange& range, const Judge& judge) {
  std::optional<WrongNumber> first;
  for_each_wrong(range, judge, [&](WrongNumber wrong) {
    first = std::move(wrong);
    return false;
  });
  return first;
}

template <class Judge>
std::vector<WrongNumber> all_wrong(const Array& array, const Judge& judge) {
  std::vector<WrongNumber> all;
  for_each_wrong({array, 0, array.rows()}, judge, [&](WrongNumber wrong) {
    all.push_back(std::move(wrong));
    return true;
  });
  return all;
}

template <class T>
bool is_class(T number, std::int64_t classes) {
  if constexpr (std::is_integral_v<T>) {
    return number >= 0 && static_cast<std::int64_t>(number) < classes;
  } else {
    const auto value = static_cast<double>(number);
    return value >= 0 && value < static_cast<double>(classes) && value == std::floor(value);
  }
}

/// The position of an element in an example: " at position 3", " at [1, 2]", or "" if there is only one.
std::string place_text(const Shape& example, std::size_t element) {
  if (example.elements() == 1) return "";
  std::vector<std::int64_t> indices;
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t axis = example.rank(); axis-- > 0; rest /= example[axis]) {
    if (example[axis] > 1) indices.insert(indices.begin(), rest % example[axis]);
  }
  return indices.size() == 1 ? fmt::format(" at position {}", indices[0])
                             : fmt::format(" at [{}]", fmt::join(indices, ", "));
}

constexpr const char* kSignsRemedy = "; where the classes are -1 and 1, write 0 for -1, or take the loss hinge";

/// Finds the error in the labels of an example, or "".
class LabelJudge {
 public:
  LabelJudge(const Array& labels, std::size_t output, const Wanted& wanted)
      : example_(labels.row_shape()),
        spec_(wanted.spec->labels[output]),
        sequence_(wanted.spec->inputs.size() == 1 ? &wanted.spec->inputs.front() : nullptr),
        classes_(wanted.one_hot_depth(output) > 0 ? wanted.one_hot_depth(output) : spec_.classes),
        signs_(wanted.one_hot_depth(output) == 0 && spec_.signs),
        any_(classes_ == 0 && spec_.are_numbers()),
        of_(wanted.spec->labels.size() > 1 ? fmt::format(" of the output '{}'", spec_.name) : "") {}

  /// Whether no labels are wrong.
  bool takes_any() const { return any_; }

  template <class T>
  std::string operator()(std::span<const T> labels) const {
    if (any_) return "";
    const auto wrong = std::ranges::find_if_not(labels, [&](T label) { return fits(label); });
    if (wrong == labels.end()) return spec_.symbol_steps > 0 ? wrong_symbols(labels) : "";
    const std::string place = place_text(example_, static_cast<std::size_t>(wrong - labels.begin()));
    return text(static_cast<double>(*wrong), of_ + place);
  }

 private:
  template <class T>
  bool fits(T label) const {
    const auto number = static_cast<double>(label);
    if (signs_) return number == -1 || number == 0 || number == 1;
    if (spec_.ignored && number == static_cast<double>(*spec_.ignored)) return true;
    return classes_ > 0 ? is_class(label, classes_) : number >= 0 && number <= 1;
  }

  /// A position for each symbol, and one more for the blank between two that are equal.
  template <class T>
  std::string wrong_symbols(std::span<const T> symbols) const {
    const auto end = std::ranges::find(symbols, T(0));
    const auto late = std::find_if(end, symbols.end(), [](T symbol) { return symbol != T(0); });
    if (late != symbols.end()) {
      return fmt::format("label{}: the symbol {}{} is behind a 0; zeros are padding, at the end alone", of_,
                         static_cast<double>(*late),
                         place_text(example_, static_cast<std::size_t>(late - symbols.begin())));
    }
    std::int64_t steps = end - symbols.begin();
    for (auto symbol = symbols.begin(); symbol != end && symbol + 1 != end; ++symbol) {
      if (*symbol == symbol[1]) ++steps;
    }
    if (steps <= spec_.symbol_steps) return "";
    return fmt::format(
        "label{}: its {} symbols take {} positions, with one between equal neighbors, but the output has {}; give it "
        "more positions, or take the example out",
        of_, end - symbols.begin(), steps, spec_.symbol_steps);
  }

  std::string text(double label, const std::string& place) const {
    if (signs_) return fmt::format("label {}{} is none of -1, 0 and 1, as the loss wants it", label, place);
    const bool is_whole = label == std::floor(label);
    if (classes_ == 0) {
      const bool is_picture = is_whole && label > 1 && example_.rank() >= 2;
      return fmt::format("label {}{} is not between 0 and 1, as the loss wants it{}", label, place,
                         is_picture ? "; the loss of pictures of 0 to 255 can divide them: write {type: "
                                      "formula, formula: \"mean(square(y_true / 255 - y_pred))\"}"
                         : is_whole && label > 1
                             ? "; for numbers of classes take sparse_categorical_crossentropy, with "
                               "an output for each class"
                         : label == -1 ? kSignsRemedy
                                       : "; to train numbers of any size take mean_squared_error");
    }
    if (!is_whole) {
      return fmt::format(
          "label {}{} is no number of a class, 0 to {}; correct it, or take mean_squared_error, which trains numbers",
          label, place, classes_ - 1);
    }
    return fmt::format("label {}{} is not one of the {} classes 0 to {}; correct it{}", label, place, classes_,
                       classes_ - 1, label < 0 ? negative_remedy(label) : outputs_remedy(label));
  }

  std::string outputs_remedy(double label) const {
    if (spec_.trained) return "";
    const bool is_mask = example_.rank() >= 2 && label == 255;
    if (is_mask) return "; where masks are 0 and 255, divide them by 255 in the data";
    return fmt::format(", or give the model as many outputs as there are classes{}",
                       label == static_cast<double>(classes_) ? ", which count from 0" : "");
  }

  std::string negative_remedy(double label) const {
    return label == -1 && classes_ == 2 && example_.elements() == 1 && !spec_.ignored ? kSignsRemedy : padding_remedy();
  }

  /// Negative labels often mark padding, which other programs ignore.
  std::string padding_remedy() const {
    if (example_.elements() == 1 || sequence_ == nullptr || sequence_->numbers_below == 0) return "";
    return sequence_->pads_with_zero ? "; where padding is masked any class will do"
                                     : "; for padding set mask_zero: true in the embedding, and take any class there";
  }

  Shape example_;
  const LabelSpec& spec_;
  const InputSpec* sequence_;  ///< null where labels may belong to several inputs
  std::int64_t classes_;
  bool signs_, any_;
  std::string of_;  ///< which output, where there are several
};

/// Finds the error in the features of an example, or "".
struct FeatureJudge {
  const Array& array;
  const InputSpec& spec;

  template <class T>
  std::string operator()(std::span<const T> features) const {
    const std::int64_t below = spec.numbers_below;
    if (below == 0) return "";
    const auto wrong = std::ranges::find_if_not(features, [&](T number) { return is_class(number, below); });
    if (wrong != features.end()) {
      const auto place = static_cast<std::size_t>(wrong - features.begin());
      return text(static_cast<double>(*wrong), place_text(array.row_shape(), place));
    }
    if (!spec.averages_steps || !std::ranges::all_of(features, [](T number) { return number == T(0); })) return "";
    return "padding (0) alone, of which global_average_pooling1d has no mean; remove the example, or encode empty "
           "sequences with a number other than 0";
  }

  std::string larger_embedding() const {
    if (spec.trained) {
      return fmt::format(", or train again with a larger input_dim{}",
                         array.tokens > 0 ? fmt::format(", {}, one for each token", array.tokens) : "");
    }
    if (array.tokens > 0) return fmt::format(", or give the embedding input_dim: {}, one for each token", array.tokens);
    const bool is_of_table = array.origin.ends_with(".csv") || array.origin.ends_with(".tsv");
    return fmt::format(", or give the embedding a larger input_dim{}",
                       is_of_table ? "; encoding: {COLUMN: index} numbers the ids that occur" : "");
  }

  std::string text(double number, const std::string& place) const {
    const bool is_beyond = number >= static_cast<double>(spec.numbers_below) && number == std::floor(number);
    const bool is_named = spec.has_name();
    return fmt::format(
        "{}{}{} is no whole number from 0 to {}, as {} wants them; correct it{}", number, place,
        is_named ? fmt::format(" of the input '{}'", spec.name) : "", spec.numbers_below - 1,
        is_named ? fmt::format("its embedding, of input_dim: {},", spec.numbers_below) : "the model's embedding",
        is_beyond                           ? larger_embedding()
        : number < 0 && spec.pads_with_zero ? "; padding is 0"
                                            : "");
  }
};

RowRange range_of(const Array& array, const Dataset& dataset) { return {array, dataset.first_row(), dataset.rows()}; }

}  // namespace

std::optional<WrongNumber> find_wrong_label(const Dataset& dataset, std::size_t output, const Wanted& wanted) {
  const Array& labels = dataset.labels(output);
  const LabelJudge judge(labels, output, wanted);
  if (judge.takes_any()) return std::nullopt;
  return first_wrong(range_of(labels, dataset), judge);
}

std::optional<WrongNumber> find_wrong_feature(const Dataset& dataset, std::size_t input, const InputSpec& spec) {
  if (spec.numbers_below == 0) return std::nullopt;  // any numbers: nothing to read
  return first_wrong(range_of(dataset.features(input), dataset), FeatureJudge{dataset.features(input), spec});
}

// The numbers of a missing label, 0, are none that any loss refuses.
std::vector<WrongNumber> wrong_labels(const Labels& labels, std::size_t output, const Wanted& wanted) {
  if (wanted.spec == nullptr) return {};
  return all_wrong(labels.array, LabelJudge(labels.array, output, wanted));
}

std::vector<WrongNumber> wrong_features(const Array& features, const InputSpec& spec) {
  return all_wrong(features, FeatureJudge{features, spec});
}

bool is_all_zero(const Dataset& dataset, std::size_t input) {
  const auto judge = []<class T>(std::span<const T> features) -> std::string {
    return std::ranges::all_of(features, [](T number) { return number == T(0); }) ? "" : "not 0";
  };
  return !first_wrong(range_of(dataset.features(input), dataset), judge);
}

}  // namespace mirrortrain::data
