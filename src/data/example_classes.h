#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/usable.h"

namespace mirrortrain::data {

/// Stands for the class of an example without a label.
inline constexpr std::int64_t kNoClass = -1;

/// The class of each row from `first` on, if every example has one class: labels that the loss of the output uses as
/// class numbers or as true and false, that one_hot converts to vectors, or that are one-hot vectors; kNoClass where
/// the label is missing. nullopt if labels are quantities, or if several of an example's may be true.
std::optional<std::vector<std::int64_t>> example_classes(const Labels& labels, std::int64_t first, std::int64_t rows,
                                                         std::size_t output, const Wanted& wanted);
inline std::optional<std::vector<std::int64_t>> example_classes(const Dataset& dataset, std::size_t output,
                                                                const Wanted& wanted) {
  return example_classes(dataset.outputs()[output], dataset.first_row(), dataset.rows(), output, wanted);
}

/// The number of examples of each class; those without a label are not counted.
using ClassCounts = std::map<std::int64_t, std::int64_t>;
ClassCounts count_classes(const std::vector<std::int64_t>& classes);

/// A class's name, or its number if it has none.
std::string class_text(std::int64_t number, const std::vector<std::string>& names);

/// "cat 900, dog 100"; for many classes "100 classes of 3 to 12 examples each".
std::string class_counts_text(const ClassCounts& counts, const std::vector<std::string>& names);

}  // namespace mirrortrain::data
