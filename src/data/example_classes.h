#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/usable.h"

namespace mirrortrain::data {

/// The class of each row from `first` on, where every example has one: labels that the loss takes for class numbers or
/// for true and false, that one_hot makes vectors of, or that are such vectors. nullopt where labels are quantities, or
/// several of an example's may be true.
std::optional<std::vector<std::int64_t>> example_classes(const Array& labels, std::int64_t first, std::int64_t rows,
                                                         const Wanted& wanted);
inline std::optional<std::vector<std::int64_t>> example_classes(const Dataset& dataset, const Wanted& wanted) {
  return example_classes(dataset.labels(), dataset.first_row(), dataset.rows(), wanted);
}

/// How many examples each class has.
using ClassCounts = std::map<std::int64_t, std::int64_t>;
ClassCounts count_classes(const std::vector<std::int64_t>& classes);

/// What a class is called: its name, or its number where it has none.
std::string class_text(std::int64_t number, const std::vector<std::string>& names);

/// "cat 900, dog 100"; of many classes "100 classes of 3 to 12 examples each".
std::string class_counts_text(const ClassCounts& counts, const std::vector<std::string>& names);

}  // namespace mirrortrain::data
