#pragma once

#include <cstdint>

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Adds warnings of valid but probably unintended options, as far as the file shows: a learning rate of 0, a language
/// model that sees the tokens it is to predict, another library's convention for momentum, evaluation on the training
/// data.
void warn_of_options(const CheckedConfiguration& checked, config::Errors& errors);

/// Adds a warning if the learning rate is still warming up at the end of a run of this many steps, or has decayed to
/// almost zero long before it.
void warn_of_schedule(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors);

}  // namespace mirrortrain
