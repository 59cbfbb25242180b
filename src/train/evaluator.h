#pragma once

#include <filesystem>
#include <functional>

#include "report/event.h"
#include "train/session/check_configuration.h"
#include "train/session/hardware.h"

namespace mirrortrain {

/// The evaluator's task, next to a run that others train: evaluates each new checkpoint in the run's `checkpoints`
/// folder, only on this machine, on the validation data or, without any, the test data; if several appeared meanwhile,
/// the newest. Returns when `is_over` and the last one is evaluated. Throws UsageError if the configuration has no such
/// data.
void evaluate_checkpoints(const CheckedConfiguration& checked, const Hardware& hardware,
                          const std::filesystem::path& checkpoints, const std::function<bool()>& is_over,
                          const std::function<void(const report::EvaluationEvent&)>& emit);

}  // namespace mirrortrain
