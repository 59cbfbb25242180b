#pragma once

#include "data/dataset.h"
#include "data/tables/adapted.h"

namespace mirrortrain {

/// The data of a run for its warnings; `validation` and `test` may be null.
struct SplitsToCheck {
  const data::Dataset *train = nullptr, *validation = nullptr, *test = nullptr;
  const data::Adapted* adapted = nullptr;  ///< values adapted to the training data; may be null
};

}  // namespace mirrortrain
