#pragma once

#include <cstdint>

namespace mirrortrain::scalar {

/// The options of every optimizer in addition to its rule, for the weights that share them.
struct UpdateTraits {
  float rate_factor = 1;   ///< the learning rate is multiplied by it
  float weight_decay = 0;  ///< each update first subtracts weight_decay * rate * w from w
  bool averages = false;   ///< whether a moving average of the weights is kept, in the last slot
  float average_momentum = 0;
  std::int64_t overwrite_every = 0;  ///< so many updates the weights become the average; 0: never
  bool is_scaled = false;  ///< the rule gets directions of whole variables, which StepParams must not scale or clip
  int optimizer = 0;       ///< whose learning rate counts

  friend bool operator==(const UpdateTraits&, const UpdateTraits&) = default;
};

}  // namespace mirrortrain::scalar
