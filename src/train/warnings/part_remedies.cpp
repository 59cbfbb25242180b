#include "train/warnings/part_remedies.h"

#include <fmt/format.h>

#include <cstddef>

#include "data/example_classes.h"
#include "data/sources/abilities.h"

namespace mirrortrain {
namespace {

/// Whether a part is taken from the end, or folds in order, rather than drawn.
bool is_from_end(const CheckedConfiguration& checked, const data::ValidationFraction& part) {
  return !part.is_drawn(data::is_sorted_by_class(checked.values().data.train.value));
}

/// Whether the part is stratified, where it is drawn, by the labels of this output: the first one of classes.
bool stratifies(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output) {
  for (std::size_t i = 0; i <= output; ++i) {
    if (data::example_classes(train, i, checked.wanted())) return i == output;
  }
  return false;
}

/// Of a part that is drawn.
std::string remedy_of_drawn(const CheckedConfiguration& checked, const data::ValidationFraction& part,
                            const data::Dataset& train, std::size_t output) {
  const bool is_refused = part.stratify && !*part.stratify && stratifies(checked, train, output);
  return remedy_of_few_examples(part) + (is_refused ? ", or leave out stratify: false" : "");
}

}  // namespace

std::string remedy_of_few_examples(const data::ValidationFraction& part) {
  if (!part.folds) return "take a larger fraction";
  return *part.folds > 2 ? "divide the data into fewer folds" : "add some to the data";
}

std::string remedy_of_one_class(const CheckedConfiguration& checked, const data::ValidationFraction& part,
                                const data::Dataset& train, std::size_t output) {
  if (!is_from_end(checked, part)) return "the others are rare: " + remedy_of_drawn(checked, part, train, output);
  const char* const taken = part.folds ? "folds in that order" : "the last of them";
  if (data::is_sorted_by_class(checked.values().data.train.value)) {
    return fmt::format(
        "the files are in the order of their classes, and shuffle: false takes {}: leave out shuffle: false, so that "
        "each class is in both parts",
        taken);
  }
  if (part.folds) return "are the data sorted by class? leave out shuffle: false";
  return part.shuffle ? "are the data sorted by class? write shuffle: true in place of shuffle: false"
                      : "are the data sorted by class? add shuffle: true beside fraction";
}

std::string remedy_of_absent_classes(const CheckedConfiguration& checked, const data::ValidationFraction& part,
                                     const data::Dataset& train, std::size_t output) {
  if (!is_from_end(checked, part)) return remedy_of_drawn(checked, part, train, output);
  if (!stratifies(checked, train, output)) return remedy_of_few_examples(part) + ", or draw it with shuffle: true";
  return fmt::format("{}, or draw it with stratify: true{}", remedy_of_few_examples(part),
                     part.shuffle ? " in place of shuffle: false" : "");
}

}  // namespace mirrortrain
