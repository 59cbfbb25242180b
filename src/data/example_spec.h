#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace mirrortrain::data {

/// An embedding of the model that looks up an input's numbers.
struct LookupSpec {
  std::string layer;  ///< the one that has the table: two inputs with one look up the same vectors
  std::int64_t rows = 0;
  bool masks_zero = false;
};

/// What an input of the model requires of examples.
struct InputSpec {
  std::string name;
  Shape shape;                     ///< of one example
  std::string path;                ///< of the key that gives the shape: "model.input_shape"
  std::int64_t numbers_below = 0;  ///< features are integers from 0 to one less than this; 0: no requirement
  bool pads_with_zero = false;     ///< the number 0 is padding, which is masked
  bool averages_steps = false;     ///< that are not padding: a sequence of only padding is an error
  bool trained = false;            ///< the model is trained, so that the data have to be changed
  std::vector<LookupSpec> lookups{};

  /// Whether the file names it, rather than giving one shape.
  bool has_name() const { return path != "model.input_shape"; }
};

/// What an output of the model and its loss require of labels.
struct LabelSpec {
  std::string name;                       ///< of the output
  Shape shape;                            ///< of one example: [] or [1] for a class number, else like the output
  DType dtype = DType::kFloat32;          ///< kInt32 for class numbers
  std::int64_t classes = 0;               ///< labels are integers from 0 to classes - 1; 0: they are not
  std::optional<std::int64_t> ignored{};  ///< a label that is no class, or left out although it is one
  bool probabilities = false;             ///< labels are numbers from 0 to 1
  bool signs = false;                     ///< labels are -1, 0 or 1
  std::int64_t symbol_steps = 0;          ///< not 0: symbols, padded with 0 behind, fit into so many steps
  bool weighted = false;                  ///< each example's loss has a weight
  bool may_be_missing = false;            ///< examples may have no label
  bool trained = false;                   ///< the model is trained, so that the data have to be changed

  /// Whether labels are any numbers, which the loss compares.
  bool are_numbers() const { return classes == 0 && !probabilities && !signs; }
};

/// The model's requirements on examples.
struct ExampleSpec {
  std::vector<InputSpec> inputs;
  std::vector<LabelSpec> labels;

  /// From now on the data have to be changed where they do not fit.
  void set_trained() {
    for (InputSpec& input : inputs) input.trained = true;
    for (LabelSpec& label : labels) label.trained = true;
  }
  /// Whether any labels have weights.
  bool weighted() const { return std::ranges::any_of(labels, &LabelSpec::weighted); }
};

/// The same, and how preprocessing makes labels of what was read.
struct Wanted {
  const ExampleSpec* spec = nullptr;           ///< null: no requirements
  std::vector<std::int64_t> one_hot_depths{};  ///< by output; 0: its labels are not made one-hot

  std::int64_t one_hot_depth(std::size_t output) const {
    return output < one_hot_depths.size() ? one_hot_depths[output] : 0;
  }
};

}  // namespace mirrortrain::data
