#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/configuration.h"
#include "train/run_folder.h"

namespace mirrortrain {

/// Whether a run may be resumed with a configuration. Throws UsageError, naming what differs from the run's own, where
/// that is the model, the data, the batch, the seed or the optimizer's type; returns the sections in which others
/// differ.
std::vector<std::string> require_same_run(const RunFolder& folder, const Configuration& configuration);

/// Whether the run ended with status done and `steps`, after which it is to end now (0: no limit), lets it go no
/// further.
bool is_finished(const RunFolder& folder, std::int64_t steps);

}  // namespace mirrortrain
