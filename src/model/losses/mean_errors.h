#pragma once

#include <array>
#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

struct MeanSquaredError : LossCommon {
  static constexpr std::string_view kName = "mean_squared_error";
  static constexpr std::string_view kAliases = "mse, mse_loss, l2_loss, l2";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"rmse, root_mean_squared_error",
        "it is a metric; take mean_squared_error as the loss, whose root has its minimum at the same place, and write "
        "metrics: [root_mean_squared_error]"}});
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kMeanSquaredError); }

  static config::Section<MeanSquaredError> section();
};

struct MeanAbsoluteError : LossCommon {
  static constexpr std::string_view kName = "mean_absolute_error";
  static constexpr std::string_view kAliases = "mae, l1_loss, l1";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kMeanAbsoluteError); }

  static config::Section<MeanAbsoluteError> section();
};

struct Huber : LossCommon {
  static constexpr std::string_view kName = "huber";
  static constexpr std::string_view kAliases = "smooth_l1, smooth_l1_loss, huber_loss";
  static constexpr Targets kTargets = Targets::kNumbers;
  double delta = 1;

  ops::Loss op() const {
    ops::Loss loss(ops::LossKind::kHuber);
    loss.delta = static_cast<float>(delta);
    return loss;
  }

  static config::Section<Huber> section();
};

struct LogCosh : LossCommon {
  static constexpr std::string_view kName = "log_cosh", kMetric = "log_cosh_error";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kLogCosh); }

  static config::Section<LogCosh> section();
};

}  // namespace mirrortrain::losses
