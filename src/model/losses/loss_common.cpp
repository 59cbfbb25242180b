#include "model/losses/loss_common.h"

#include <limits>

namespace mirrortrain::losses {
namespace {

constexpr double kLargestWeight = std::numeric_limits<float>::max();

}  // namespace

config::Section<LossCommon> LossCommon::section() {
  return config::Section<LossCommon>("The options of every loss.")
      .key("weight", &LossCommon::weight,
           "Factor of this loss in the sum of all outputs' losses, which is minimized and reported as `loss`; the "
           "output's own, `OUTPUT_loss`, is reported without it.",
           config::between(0, kLargestWeight));
}

}  // namespace mirrortrain::losses
