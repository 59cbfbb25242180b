#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/input_spec.h"

namespace mirrortrain::data {

struct WrongNumber {
  std::int64_t row = 0;  ///< of the whole array
  std::string message;
};

/// The first label of the data set that is no class, or no probability, where the model wants one.
std::optional<WrongNumber> find_wrong_label(const Dataset& dataset, std::int64_t one_hot_depth, const InputSpec& spec);
/// The first example with a feature that is no row of the model's embedding, where there is one, or of padding alone
/// where the model averages steps.
std::optional<WrongNumber> find_wrong_feature(const Dataset& dataset, const InputSpec& spec);

/// The first of each row that has one, rows ascending.
std::vector<WrongNumber> wrong_labels(const Array& labels, std::int64_t one_hot_depth, const InputSpec& spec);
std::vector<WrongNumber> wrong_features(const Array& features, const InputSpec& spec);

/// Whether every feature of every example is 0. Of features in memory.
bool is_all_zero(const Dataset& dataset);

}  // namespace mirrortrain::data
