#pragma once

#include <cstdint>

#include "config/errors.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// Adds warnings of options that can be trained with but are hardly meant, as the file alone shows them: a learning
/// rate of 0, a language model that sees what it is to predict, momenta of another library, evaluation on the training
/// data.
void warn_of_options(const CheckedConfiguration& checked, config::Errors& errors);

/// Adds a warning where the learning rate is still warming up at the end of a run of so many steps, or has decayed to
/// next to nothing long before it.
void warn_of_schedule(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors);

}  // namespace mirrortrain
