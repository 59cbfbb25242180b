#pragma once

#include <cstdint>

namespace mirrortrain::scalar {

/// What every optimizer has beside its rule, for the weights that have it in common.
struct UpdateTraits {
  float rate_factor = 1;   ///< the learning rate is multiplied by it
  float weight_decay = 0;  ///< each update first takes weight_decay * rate * w from w
  bool averages = false;   ///< whether a moving average of the weights is kept, in the last slot
  float average_momentum = 0;
  std::int64_t overwrite_every = 0;  ///< so many updates the weights become the average; 0: never

  friend bool operator==(const UpdateTraits&, const UpdateTraits&) = default;
};

}  // namespace mirrortrain::scalar
