#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/example_spec.h"

namespace mirrortrain::data {

struct WrongNumber {
  std::int64_t row = 0;  ///< in the whole array
  std::string message;
};

/// The first label of an output that is not a class, or not a probability, if the model needs one.
std::optional<WrongNumber> find_wrong_label(const Dataset& dataset, std::size_t output, const Wanted& wanted);
/// The first example with a feature that is not a row of the model's embedding, if the input has one, or with only
/// padding if the model averages time steps.
std::optional<WrongNumber> find_wrong_feature(const Dataset& dataset, std::size_t input, const InputSpec& spec);

/// The first error of each row that has one, rows ascending.
std::vector<WrongNumber> wrong_labels(const Labels& labels, std::size_t output, const Wanted& wanted);
std::vector<WrongNumber> wrong_features(const Array& features, const InputSpec& spec);

/// Whether every feature of an input is 0 in every example. Not for pictures.
bool is_all_zero(const Dataset& dataset, std::size_t input);

}  // namespace mirrortrain::data
