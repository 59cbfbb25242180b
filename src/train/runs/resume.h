#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/checkpoint/run_folder.h"
#include "train/session/configuration.h"

namespace mirrortrain {

/// The run that --resume names. Throws UsageError where there is none, and for a checkpoint that is not its newest.
RunFolder require_resumable(const std::string& run);

/// A key of a configuration with its values, "absent" where it has none.
struct ChangedKey {
  std::string key, before, now;
};

/// Whether a run may be resumed with a configuration. Throws UsageError, naming key and values, where the model, the
/// data but for where they lie, the batch, the seed, the optimizer's type or what it keeps for each weight differ from
/// the run's own; returns the others that differ.
std::vector<ChangedKey> require_same_run(const RunFolder& folder, const Configuration& configuration);

/// Whether the run ended with status done and `steps`, after which it is to end now (0: no limit), lets it go no
/// further.
bool is_finished(const RunFolder& folder, std::int64_t steps);

}  // namespace mirrortrain
