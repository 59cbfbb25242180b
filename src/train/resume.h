#pragma once

#include <cstdint>

#include "train/configuration.h"
#include "train/run_folder.h"

namespace mirrortrain {

/// Whether a run may go on with a configuration. Throws UsageError, naming what differs, where the model, the data, the
/// batch, the seed or the optimizer's type changed since the run began; other changes are logged.
void require_same_run(const RunFolder& folder, const Configuration& configuration);

/// Whether the run ended with status done and `steps`, after which it is to end now (0: no limit), lets it go no
/// further.
bool is_finished(const RunFolder& folder, std::int64_t steps);

}  // namespace mirrortrain
