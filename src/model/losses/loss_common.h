#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"

namespace mirrortrain::losses {

/// How the losses of a global batch's examples are reduced to one, as in Keras.
enum class Reduction : std::uint8_t {
  kSumOverBatchSize,      ///< their sum, with their weights, divided by their number
  kMean,                  ///< the same
  kSum,                   ///< their sum, with their weights
  kMeanWithSampleWeight,  ///< their sum, with their weights, divided by the sum of the weights
};

/// The options that every loss has. A loss derives from it and ends its section with `.include<LossCommon>()`.
struct LossCommon {
  double weight = 1;  ///< of the output's loss in the sum that is minimized: an entry of Keras's loss_weights
  Reduction reduction = Reduction::kSumOverBatchSize;

  static config::Section<LossCommon> section();
};

/// Keras's option of losses over one axis, which is the last one here.
struct LastAxis {
  std::int64_t axis = -1;

  static config::Section<LastAxis> section();
};

}  // namespace mirrortrain::losses

template <>
struct mirrortrain::config::EnumNames<mirrortrain::losses::Reduction> {
  using Reduction = mirrortrain::losses::Reduction;
  static constexpr auto names = std::to_array<std::pair<std::string_view, Reduction>>(
      {{"sum_over_batch_size", Reduction::kSumOverBatchSize},
       {"sum", Reduction::kSum},
       {"mean", Reduction::kMean},
       {"mean_with_sample_weight", Reduction::kMeanWithSampleWeight}});
  static constexpr auto advice =
      std::to_array<Advice>({{"none, null", "what is minimized is one number; write reduction: sum, or leave it out"},
                             {"batchmean", "leave it out: a loss is divided by the number of examples"}});
};
