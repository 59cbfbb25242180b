#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/input_spec.h"

namespace mirrortrain::data {

struct WrongNumber {
  std::int64_t row = 0;  ///< in the whole array
  std::string message;
};

/// The first label of the data set that is not a class, or not a probability, if the model needs one.
std::optional<WrongNumber> find_wrong_label(const Dataset& dataset, std::int64_t one_hot_depth, const InputSpec& spec);
/// The first example with a feature that is not a row of the model's embedding, if it has one, or with only padding if
/// the model averages time steps.
std::optional<WrongNumber> find_wrong_feature(const Dataset& dataset, const InputSpec& spec);

/// The first error of each row that has one, rows ascending.
std::vector<WrongNumber> wrong_labels(const Array& labels, std::int64_t one_hot_depth, const InputSpec& spec);
std::vector<WrongNumber> wrong_features(const Array& features, const InputSpec& spec);

/// Whether every feature of every example is 0. For features in memory.
bool is_all_zero(const Dataset& dataset);

}  // namespace mirrortrain::data
