#pragma once

#include <string_view>

#include "config/section.h"
#include "kernels/scalar/update_rules.h"
#include "model/learning_rate.h"

namespace mirrortrain::optimizers {

/// An optimizer as a configuration gives it: the hyperparameters of its rule, which it inherits, and the learning rate.
/// Each rule of scalar::UpdateRule has a specialization, in its optimizer's file.
template <class Rule>
struct Options;

/// A section of `Options` with the keys and checks that every optimizer has.
template <class Options>
config::Section<Options> section_of(std::string_view help) {
  return config::Section<Options>(help)
      .key("learning_rate", &Options::learning_rate, "The learning rate, or a learning rate schedule.")
      .check("learning_rate", [](const Options& options) { return learning_rate_error(options.learning_rate); });
}

}  // namespace mirrortrain::optimizers
