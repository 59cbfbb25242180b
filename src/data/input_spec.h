#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/shape.h"

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
  bool averages_steps = false;     ///< that are no padding: a sequence of padding alone is wrong
};

}  // namespace mirrortrain::data
