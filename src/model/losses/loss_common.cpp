#include "model/losses/loss_common.h"

namespace mirrortrain::losses {

config::Section<LossCommon> LossCommon::section() {
  return config::Section<LossCommon>("The options of every loss.")
      .key("weight", &LossCommon::weight,
           "Factor of this loss in the sum of all outputs' losses, which is minimized and reported as `loss`; the "
           "output's own, `OUTPUT_loss`, is reported without it.",
           config::at_least(0));
}

}  // namespace mirrortrain::losses
