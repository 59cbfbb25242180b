#include "strategy/gradient_options.h"

namespace mirrortrain {

config::Section<GradientOptions> GradientOptions::section() {
  return config::Section<GradientOptions>("Treatment of gradients before the optimizer applies them.")
      .advice("clipnorm",
              "optimizer.clipnorm clips each variable's gradient by its own norm; gradients.clip_norm is that of all "
              "gradients together, Keras's global_clipnorm")
      .key(
          "aggregation_method", &GradientOptions::aggregation_method,
          "Order in which gradients are summed where a value feeds several layers, and in cross-device operations that "
          "copy gradients.")
      .key("clip_norm", &GradientOptions::clip_norm, "Clips the gradients to this global norm; null: no clipping.",
           config::greater_than(0),
           config::aliases("grad_clip, clip, gradient_clipping, global_clipnorm, max_norm, max_grad_norm"))
      .key("clip_value", &GradientOptions::clip_value,
           "Clips each element of the gradients to [-clip_value, clip_value]; null: no clipping.",
           config::greater_than(0), config::excludes("clip_norm"), config::aliases("clipvalue"))
      .key("accumulate_steps", &GradientOptions::accumulate_steps,
           "Number of steps whose gradients are averaged into one update of the weights.", config::at_least(1),
           config::aliases(
               "gradient_accumulation, gradient_accumulation_steps, accumulate_grad_batches, accumulation_steps"));
}

}  // namespace mirrortrain
