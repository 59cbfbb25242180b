#include "strategy/gradient_options.h"

namespace mirrortrain {

config::Section<GradientOptions> GradientOptions::section() {
  return config::Section<GradientOptions>("What happens to gradients on their way to the optimizer.")
      .key("aggregation_method", &GradientOptions::aggregation_method,
           "How gradient terms are added where a value feeds several layers, and where a cross-device operation copies "
           "gradients to be added.")
      .key("clip_norm", &GradientOptions::clip_norm,
           "Scales all gradients down together where their global norm is larger; null: never.",
           config::greater_than(0))
      .key("clip_value", &GradientOptions::clip_value,
           "Limits each element of the gradients to so much either way; null: no limit.", config::greater_than(0))
      .key("accumulate_steps", &GradientOptions::accumulate_steps,
           "Steps whose mean gradient makes one update of the weights.", config::at_least(1))
      .check("clip_value", [](const GradientOptions& options) -> std::string {
        return options.clip_norm && options.clip_value ? "clip_norm and clip_value exclude each other; leave one out"
                                                       : "";
      });
}

}  // namespace mirrortrain
