#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/checkpoint/run_folder.h"
#include "train/session/configuration.h"

namespace mirrortrain {

/// The run that --resume names. Throws UsageError if there is none, and for a checkpoint that is not its newest.
RunFolder require_resumable(const std::string& run);

/// A configuration key with its values, "absent" if it has none.
struct ChangedKey {
  std::string key, before, now;
};

/// Requires that a run can be resumed with a configuration. Throws UsageError, naming key and values, if the model, the
/// data except for their location, the batch, the seed, the optimizer's type or its slots differ from the run's;
/// returns the other keys that differ.
std::vector<ChangedKey> require_same_run(const RunFolder& folder, const Configuration& configuration);

/// Whether the run ended with status done, and `steps`, its new limit (0: no limit), does not let it continue.
bool is_finished(const RunFolder& folder, std::int64_t steps);

}  // namespace mirrortrain
