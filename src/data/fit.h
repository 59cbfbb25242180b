#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "config/errors.h"
#include "data/dataset.h"
#include "data/options.h"

namespace mirrortrain::data {

/// What the model takes.
struct InputSpec {
  Shape features;                        ///< of one example: model.input_shape
  Shape labels;                          ///< of one example: [] or [1] for a class number, else like the output
  DType labels_dtype = DType::kFloat32;  ///< kInt32 for class numbers
  std::int64_t classes = 0;              ///< labels are whole numbers from 0 to classes - 1; 0: they are not
  bool probabilities = false;            ///< labels are numbers from 0 to 1
  bool signs = false;                    ///< labels are -1, 0 or 1
  bool weighted = false;                 ///< each example's loss counts by a weight
  bool trained = false;                  ///< the weights are there, so that it is the data that have to change
  std::int64_t numbers_below = 0;  ///< features are whole numbers from 0 to one less than this; 0: they need not be
  bool pads_with_zero = false;     ///< the number 0 is padding, which a mask leaves out
  bool needs_a_step = false;       ///< a sequence of padding alone is wrong: the model averages its other steps
};

// What does not fit, in words, or "". Shapes fit where they are equal but for extents of one: images [28, 28] an input
// [28, 28, 1], a scalar label an output [1].
std::string features_mismatch(const Shape& example, const InputSpec& spec);
std::string channels_mismatch(std::size_t channels, const InputSpec& spec);
std::string labels_mismatch(const Shape& label, std::int64_t one_hot_depth, const InputSpec& spec);

struct WrongNumber {
  std::int64_t row = 0;  ///< of the whole array
  std::string message;
};
/// The first label of the data set that is no class, or no probability, where the model wants one.
std::optional<WrongNumber> find_wrong_label(const Dataset& dataset, std::int64_t one_hot_depth, const InputSpec& spec);
/// The first feature that is no row of the model's embedding, where there is one.
std::optional<WrongNumber> find_wrong_feature(const Dataset& dataset, const InputSpec& spec);

/// Whether every feature of every row is 0. Of features in memory.
bool is_padding_alone(const Dataset& dataset);

/// The first of each row that has one.
std::vector<WrongNumber> wrong_labels(const Array& labels, std::int64_t one_hot_depth, const InputSpec& spec);
std::vector<WrongNumber> wrong_features(const Array& features, const InputSpec& spec);

/// Where a key was written, as "data.preprocessing[0].rescaling".
using PlaceOf = std::function<config::Place(const std::string& path)>;

/// Adds what the configuration alone shows not to fit the model: preprocessing, inline and synthetic data.
void check_fit(const DataOptions& options, const InputSpec& spec, const PlaceOf& place_of, config::Errors& errors);

}  // namespace mirrortrain::data
