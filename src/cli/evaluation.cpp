#include "cli/evaluation.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "report/batch_progress.h"
#include "report/jsonl.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/non_finite.h"
#include "train/checkpoint/run_folder.h"
#include "train/inference/evaluated_classes.h"
#include "train/runs/run_weights.h"
#include "train/runs/summary.h"
#include "train/session/left_out.h"
#include "train/session/run.h"
#include "train/trainer.h"
#include "train/warnings/new_scale.h"

namespace mirrortrain::cli {
namespace {

/// With a progress line if `shows_progress`.
StepSums evaluate(const Run& run, data::Split split, std::int64_t batch_size, bool shows_progress) {
  const data::Feeder& examples = *run.split(split);
  report::BatchProgress progress(data::name_of(split), shows_progress && !is_quiet());
  const auto show = [&](std::int64_t batch, std::int64_t batches) {
    progress.show(batch, batches);
    return true;
  };
  return evaluate_while(show, *run.strategy, examples, batch_size).value();
}

}  // namespace

std::optional<Evaluation> evaluation_on(const RunCluster* cluster, const EvalArguments& arguments,
                                        const CheckedConfiguration& checked, const std::optional<NamedRun>& named) {
  const Configuration& values = checked.values();
  const bool is_chief = cluster == nullptr || cluster->spec().is_chief();
  std::optional<data::Adapted> adapted;
  if (named) adapted = read_adapted(named->folder);
  const Run run =
      build_run(checked, {.trains = false, .evaluates = {arguments.split}, .adapted = adapted ? &*adapted : nullptr},
                cluster != nullptr ? cluster->hardware() : this_hardware());
  if (is_chief) {
    report_left_out(run, LeftOutList::kFirst);
    const data::Dataset& examples = run.split(arguments.split)->dataset();
    warn_of_remarks(examples);
    if (named && arguments.data.empty()) {
      warn_of_changed_data(named->folder.checkpoints(), arguments.split, examples,
                           data::is_drawn_from_train(values.data, arguments.split));
    }
    const FeatureSizes sizes = named ? read_feature_sizes(named->folder.summary()) : FeatureSizes();
    NewScale scale(checked, adapted ? &*adapted : nullptr, sizes);
    scale.add(examples);
    if (const std::string other = scale.text(); !other.empty())
      spdlog::warn("{}: {}", examples.features(0).origin, other);
  }
  if (arguments.json) require_not_read(*arguments.json);
  RunWeights weights;
  if (is_chief) {
    for (const std::string& note : run.strategy->topology().notes) spdlog::info(note);
    weights = weights_to_evaluate(arguments.run_or_config, arguments.checkpoint, named, values);
    spdlog::info("weights: {}", weights.file.string());
  }
  load_run_weights(weights, *run.strategy);

  const StepSums sums = evaluate(run, arguments.split, values.data.global_batch_size, is_chief);
  const bool tells_classes = run.strategy->workers().agree(arguments.json.has_value()) != 0;  // the chief decides
  const nlohmann::ordered_json classes =
      tells_classes ? evaluated_classes(checked, run, arguments.split) : nlohmann::ordered_json::object();
  report::EvaluationEvent event{data::name_of(arguments.split), weights.step, sums.examples,
                                scores_of(sums, *checked.model)};
  const bool is_finite = std::isfinite(event.scores.loss);
  const std::string reason = is_finite ? "" : reason_of_nan(*run.strategy, *checked.model);  // from every worker
  if (!is_chief) return std::nullopt;
  if (!is_finite) {
    spdlog::warn("the loss is {}{}: {}", name_of_non_finite(event.scores.loss),
                 outputs_not_finite(sums, *checked.model), reason);
  }
  return Evaluation{std::move(event), classes};
}

nlohmann::ordered_json json_of(const Evaluation& evaluation) {
  auto json = parse_json<nlohmann::ordered_json>(report::to_json(evaluation.event));
  json.update(evaluation.classes);
  return json;
}

std::string text_of(const report::EvaluationEvent& event) {
  return fmt::format("{}: {} ({} examples)", event.split, scores_text(event.scores), event.examples);
}

}  // namespace mirrortrain::cli
