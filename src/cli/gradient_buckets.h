#pragma once

#include <cstddef>
#include <vector>

#include "train/session/check_configuration.h"

namespace mirrortrain::cli {

/// The elements of each gradient bucket of the configuration's model, in the order in which they are reduced. None
/// where no gradient is.
std::vector<std::size_t> bucket_counts(const CheckedConfiguration& checked);

}  // namespace mirrortrain::cli
