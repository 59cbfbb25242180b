#pragma once

#include <cstddef>
#include <vector>

#include "train/session/check_configuration.h"

namespace mirrortrain::cli {

/// The number of elements of each gradient bucket of the configuration's model, in the order in which they are reduced.
/// Empty if there are no gradients.
std::vector<std::size_t> bucket_counts(const CheckedConfiguration& checked);

}  // namespace mirrortrain::cli
