#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/checkpoint/run_folder.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {

/// The run that --resume names. Throws UsageError if there is none, and for a checkpoint that is not its newest.
RunFolder require_resumable(const std::string& run);

/// A configuration key with its values, "absent" if it has none.
struct ChangedKey {
  std::string key, before, now;
};

/// The run was begun with a configuration that cannot resume it.
class OfAnotherConfiguration : public UsageError {
 public:
  OfAnotherConfiguration(const RunFolder& folder, std::string difference);
  const std::string difference;  ///< "seed changed since this run began: 1 in runs/a/config.yaml, 2 now"
};

/// Requires that a run can be resumed with a configuration. Throws OfAnotherConfiguration, naming key and values, if
/// the model, the data except for their location, the batch, the seed, the optimizer's type or its slots differ from
/// the run's; returns the other keys that differ.
std::vector<ChangedKey> require_same_run(const RunFolder& folder, const Configuration& configuration);

/// `--resume=auto`: the run in `run_dir`, or else the newest of the configuration's name that it can resume; nullopt if
/// there is none, so that a new one begins. Logs why it passed over the runs of the name, if there are any.
std::optional<RunFolder> find_run_to_resume(const std::optional<std::string>& run_dir,
                                            const Configuration& configuration);

/// Whether the run ended with status done, and `steps`, its new limit (0: no limit), does not let it continue.
bool is_finished(const RunFolder& folder, std::int64_t steps);

}  // namespace mirrortrain
