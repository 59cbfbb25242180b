#include "train/evaluator.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/weights.h"
#include "train/session/left_out.h"
#include "train/session/run.h"
#include "train/trainer.h"

namespace mirrortrain {
namespace {

/// Returns false if the checkpoint was removed meanwhile, since the chief keeps only some.
bool load(const std::filesystem::path& checkpoint, Strategy& strategy) {
  try {
    load_weights(read_checkpoint_model(checkpoint), checkpoint.string(), strategy);
  } catch (const Error&) {
    if (std::filesystem::exists(checkpoint / "training.safetensors")) throw;
    return false;
  }
  return true;
}

}  // namespace

void evaluate_checkpoints(const CheckedConfiguration& checked, const Hardware& hardware,
                          const std::filesystem::path& checkpoints, const std::function<bool()>& is_over,
                          const std::function<void(const report::EvaluationEvent&)>& emit) {
  constexpr auto kLook = std::chrono::milliseconds(200);
  const data::DataOptions& data = checked.values().data;
  const bool validates = data.validation.value.has_value();
  if (!validates && !data.test.value) {
    throw UsageError("the evaluator has nothing to evaluate on: give data.validation or data.test, or leave it out");
  }
  const data::Split split = validates ? data::Split::kValidation : data::Split::kTest;
  const Run run = build_run(checked, {.trains = false, .evaluates = {split}}, hardware);
  report_left_out(run, LeftOutList::kFirst);
  std::filesystem::path last;
  while (true) {
    const bool ends = is_over();  // read before searching, so that all checkpoints saved before the end are found
    const auto newest = newest_checkpoint(checkpoints);
    if (newest && *newest != last && load(*newest, *run.strategy)) {
      last = *newest;
      const StepSums sums = evaluate_all(*run.strategy, *run.split(split), data.global_batch_size);
      emit({validates ? "validation" : "test", step_of_checkpoint(last), sums.examples,
            scores_of(sums, *checked.model)});
      continue;
    }
    if (ends) return;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace mirrortrain
