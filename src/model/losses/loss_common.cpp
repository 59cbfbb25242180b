#include "model/losses/loss_common.h"

#include <fmt/format.h>

#include <limits>
#include <string>

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
           config::between(0, kLargestWeight))
      .key("reduction", &LossCommon::reduction,
           "How the losses of a batch's examples are reduced to one. `sum_over_batch_size` and `mean`: their sum "
           "divided by their number, `sum`: their sum, `mean_with_sample_weight`: their sum divided by the sum of the "
           "examples' weights. A batch is the global one.");
}

config::Section<LastAxis> LastAxis::section() {
  return config::Section<LastAxis>("The axis of a loss.")
      .key("axis", &LastAxis::axis, "The axis over which a position's loss is computed: -1, the last one.")
      .check("axis", [](const LastAxis& options) -> std::string {
        if (options.axis == -1) return "";
        return fmt::format(
            "expected -1, the last axis, found {}; bring it to the end before the loss, with the layer permute",
            options.axis);
      });
}

}  // namespace mirrortrain::losses
