#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/shape.h"

namespace mirrortrain::data {

/// The model's requirements on examples.
struct InputSpec {
  Shape features;                        ///< of one example: model.input_shape
  Shape labels;                          ///< of one example: [] or [1] for a class number, else like the output
  DType labels_dtype = DType::kFloat32;  ///< kInt32 for class numbers
  std::int64_t classes = 0;              ///< labels are integers from 0 to classes - 1; 0: they are not
  bool probabilities = false;            ///< labels are numbers from 0 to 1
  bool signs = false;                    ///< labels are -1, 0 or 1
  bool weighted = false;                 ///< each example's loss has a weight
  bool trained = false;                  ///< the model is trained, so that the data have to be changed
  std::int64_t numbers_below = 0;        ///< features are integers from 0 to one less than this; 0: no requirement
  bool pads_with_zero = false;           ///< the number 0 is padding, which is masked
  bool averages_steps = false;           ///< that are not padding: a sequence of only padding is an error
};

}  // namespace mirrortrain::data
