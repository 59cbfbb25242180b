#include "model/losses/loss_common.h"

#include <limits>

namespace mirrortrain::losses {
namespace {

constexpr double kLargestWeight = std::numeric_limits<float>::max();

}  // namespace

config::Section<LossCommon> LossCommon::section() {
  return config::Section<LossCommon>("The options of every loss.")
      .advice("loss_weights, loss_weight",
              "each output's loss has its own: write loss: {OUTPUT: {type: mean_squared_error, weight: 0.2}, ...}")
      .key("weight", &LossCommon::weight,
           "Factor of this loss in the sum of all outputs' losses, which is minimized and reported as `loss`; the "
           "output's own, `OUTPUT_loss`, is reported without it.",
           config::between(0, kLargestWeight));
}

}  // namespace mirrortrain::losses
