#include "train/runs/trial_of_study.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "launch/shell.h"
#include "report/event_lines.h"
#include "train/checkpoint/run_lock.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// The folder of the study, above the run's or, of a fold, above the trial's; empty if there is none.
fs::path study_of(const fs::path& run) {
  std::error_code none;
  fs::path above = fs::weakly_canonical(run, none).parent_path();  // best is a link
  for (int levels = 0; levels < 2; ++levels, above = above.parent_path()) {
    if (fs::exists(above / "study.yaml", none) && fs::exists(above / "journal.jsonl", none)) return above;
  }
  return {};
}

/// Whether this process's parent holds the folder.
bool is_held_by_parent(const fs::path& folder) {
  try {
    const auto holder = parse_json_if_valid<nlohmann::ordered_json>(read_text_file(folder / RunLock::kName));
    return holder.is_object() && report::integer_in(holder, "pid") == ::getppid();
  } catch (const SystemError&) {  // nobody does
    return false;
  }
}

}  // namespace

void require_no_trial(const RunFolder& run) {
  const fs::path study = study_of(run.path);
  if (study.empty() || is_held_by_parent(study)) return;
  throw UsageError(
      fmt::format("{}: this run is a trial of the study {}, which has its result, or resumes it itself; train a copy "
                  "further: cp -r {} COPY, then mirrortrain fit --resume COPY",
                  run.path.string(), study.string(), launch::quoted(run.path.string() + "/")));
}

}  // namespace mirrortrain
