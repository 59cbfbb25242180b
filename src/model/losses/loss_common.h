#pragma once

#include "config/section.h"

namespace mirrortrain::losses {

/// The options that every loss has. A loss derives from it and ends its section with `.include<LossCommon>()`.
struct LossCommon {
  double weight = 1;  ///< of the output's loss in the sum that is minimized: an entry of Keras's loss_weights

  static config::Section<LossCommon> section();
};

}  // namespace mirrortrain::losses
