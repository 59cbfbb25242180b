#include "data/options.h"

#include <algorithm>

namespace mirrortrain::data {

config::Section<ValidationFraction> ValidationFraction::section() {
  return config::Section<ValidationFraction>("The last part of train, taken before shuffling.")
      .key("fraction", &ValidationFraction::fraction, "Which part.", config::required, config::greater_than(0),
           config::less_than(1));
}

config::Section<DataOptions> DataOptions::section() {
  return config::Section<DataOptions>("The examples, and how they come to the model.")
      .key("global_batch_size", &DataOptions::global_batch_size, "Examples per step, over all replicas together.",
           config::required, config::between(1, 1 << 30))
      .key("shuffle", &DataOptions::shuffle, "Whether each epoch has a new order of the whole set, from the seed.")
      .key("drop_remainder", &DataOptions::drop_remainder,
           "Whether training leaves out an epoch's last batch where it is short.")
      .key("train", &DataOptions::train, "What to train on.", config::required)
      .key("validation", &DataOptions::validation, "What to evaluate after each epoch.")
      .key("test", &DataOptions::test, "What to evaluate at the end.")
      .key("preprocessing", &DataOptions::preprocessing, "Steps for every split, in order.")
      .key("cache", &DataOptions::cache,
           "Where GPUs find the examples: in their own memory where there is room (`auto`), there, or in the host's.")
      .check("preprocessing", [](const DataOptions& options) -> std::string {
        const auto one_hots = std::count_if(options.preprocessing.begin(), options.preprocessing.end(),
                                            [](const auto& step) { return std::holds_alternative<OneHot>(step); });
        return one_hots > 1 ? "expected at most one one_hot step, found several" : "";
      });
}

}  // namespace mirrortrain::data
