#pragma once

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Warns of options of which a run with this type of strategy, or with these devices, takes no notice: a cluster
/// where one process trains, a number of CPU replicas where devices are listed.
void warn_of_unused_options(const CheckedConfiguration& checked, config::Errors& errors);

}  // namespace mirrortrain
