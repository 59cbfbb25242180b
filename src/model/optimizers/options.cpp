#include "model/optimizers/options.h"

#include "model/key_aliases.h"

namespace mirrortrain::optimizers {

config::Section<LearningRateFactor> LearningRateFactor::section() {
  return config::Section<LearningRateFactor>("A factor of the learning rate for the weights whose names match.")
      .key("match", &LearningRateFactor::match,
           "A glob over the model's variable names, such as \"stem/*\"; `*` matches `/` too. The first item that "
           "matches counts.",
           config::required, config::non_empty, kMatchAliases)
      .key("factor", &LearningRateFactor::factor, "Factor of the learning rate.", config::required, config::at_least(0),
           config::aliases("lr_mult, lr_multiplier, multiplier, scale"));
}

config::Section<OptimizerCommon> OptimizerCommon::section() {
  using Self = OptimizerCommon;
  return config::Section<Self>("The options of every optimizer.")
      .advice("lr_scheduler, lr_schedule, learning_rate_scheduler, scheduler, schedule, decay, warmup, warmup_steps",
              kScheduleAdvice)
      .key("match", &Self::match,
           "In a list of optimizers: a glob over the model's variable names, such as \"embedding/*\"; `*` matches `/` "
           "too. The optimizer updates the variables that match, of those that none before it in the list has; null: "
           "all that are left.",
           config::non_empty, kMatchAliases)
      .key("learning_rate", &Self::learning_rate, "The learning rate, or a learning rate schedule.",
           config::at_least(0), config::aliases("lr, eta, step_size, initial_learning_rate"))
      .key("weight_decay", &Self::weight_decay,
           "Weight decay: each update first subtracts learning_rate * weight_decay * weight; null: none.",
           config::at_least(0), config::aliases("l2"))
      .key("exclude_from_weight_decay", &Self::exclude_from_weight_decay,
           "Globs over the model's variable names, such as \"*/bias\"; what matches has no weight decay.")
      .key("learning_rate_factors", &Self::learning_rate_factors,
           "Factors of the learning rate for some weights, such as those of a layer.")
      .key("use_ema", &Self::use_ema,
           "Whether to keep an exponential moving average of the weights. Validation during training uses the weights "
           "themselves, the test at the end and the saved model their average.")
      .key("ema_momentum", &Self::ema_momentum, "Share of the average that each update keeps.", config::at_least(0),
           config::less_than(1))
      .key("ema_overwrite_frequency", &Self::ema_overwrite_frequency,
           "Number of updates after which the weights become the average; null: only at the end.", config::at_least(1))
      .key(
          "clipnorm", &Self::clipnorm,
          "Clips the gradient of each variable to this norm of its own; null: no clipping. `gradients.clip_norm` clips "
          "all gradients together, by their global norm.",
          config::greater_than(0))
      .key("loss_scale_factor", &Self::loss_scale_factor,
           "Multiplies the loss before gradients are computed, which are divided by it again, so that small ones keep "
           "their digits; null: 1. Float32 and bfloat16 have no need of it.",
           config::greater_than(0), config::aliases("loss_scale"))
      .check("ema_momentum",
             [](const Self& options) -> std::string {
               return options.use_ema || options.ema_momentum == Self().ema_momentum
                          ? ""
                          : "has no effect without `use_ema: true`";
             })
      .check("ema_overwrite_frequency", [](const Self& options) -> std::string {
        return options.use_ema || !options.ema_overwrite_frequency ? "" : "has no effect without `use_ema: true`";
      });
}

}  // namespace mirrortrain::optimizers
