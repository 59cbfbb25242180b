#include "train/runs/predicted_page.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "train/checkpoint/checkpoint.h"
#include "train/inference/prediction.h"
#include "train/runs/page_predictions.h"
#include "train/runs/run_report.h"
#include "train/runs/run_weights.h"
#include "train/runs/summary.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"
#include "train/session/run_data.h"

namespace mirrortrain {
namespace {

/// The test data, else the validation data. Throws Error if they cannot be read, UsageError if there are none.
std::pair<data::Split, data::LoadedSplit> read_labelled_split(const CheckedConfiguration& checked,
                                                              const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  for (const data::Split split : {data::Split::kTest, data::Split::kValidation}) {
    if (auto loaded = data::load(values.data, values.seed, checked.wanted_examples(), split, adapted))
      return {split, std::move(*loaded)};
  }
  throw UsageError(data::missing_text(values.data, data::Split::kTest));
}

/// Adds the parts that need the data and the weights. The last user of `checked`.
void add_predictions_of(const NamedRun& run, CheckedConfiguration checked, report::RunPage& page) {
  const std::optional<data::Adapted> kept = read_adapted(run.folder);
  if (!has_shown_outputs(checked, kept ? &*kept : nullptr, page)) return;
  const auto [split, loaded] = read_labelled_split(checked, kept ? &*kept : nullptr);
  warn_of_changed_data(run.folder.checkpoints(), split, as_kept(checked, loaded.dataset, kept ? &*kept : nullptr),
                       data::is_drawn_from_train(checked.values().data, split));
  const RunWeights weights = weights_of(run);
  spdlog::info("{}: predicting the {} {} examples with {}", page.name, loaded.dataset.rows(), data::name_of(split),
               weights.file.string());
  const PageExamples examples{split, loaded.dataset, kept ? *kept : loaded.adapted, weights.step,
                              [&](Strategy& strategy) { load_run_weights(weights, strategy); }};
  const std::vector<std::int32_t> beginning = add_predictions(checked, examples, page);
  add_texts(std::move(checked), examples, beginning, page);
}

}  // namespace

report::RunPage predicted_page(const NamedRun& run, const std::string& name, const PredictedPage& options) {
  report::RunPage page = run_page(run.folder, name);
  const auto leave_out = [&page](const std::string& why) {
    if (page.classes.empty()) page.why_no_classes = "Left out: " + why;  // an eval.json may have them
    page.why_no_mistakes = "Left out: " + why;
  };
  std::optional<CheckedConfiguration> checked;
  try {
    checked = check_configuration(run.folder.config().string(), options.overrides,
                                  [](const std::string&) { return std::nullopt; });
  } catch (const Error& error) {
    page.why_no_layers = fmt::format("Left out: {}", error.what());
    leave_out(error.what());
    return page;
  }
  add_layers(*checked, page);
  if (!checked->has_model()) return page;
  if (!options.predicts) return page;
  const bool tells_classes =
      std::ranges::any_of(output_meanings(*checked, nullptr), [](const auto& one) { return one.tells_classes(); });
  try {
    add_predictions_of(run, *std::move(checked), page);
  } catch (const Error& error) {
    if (!tells_classes) return page;  // errors of numbers are left out where there are no data for them
    spdlog::warn("{}: no classes and no pictures: {}", name, error.what());
    leave_out(error.what());
  }
  return page;
}

}  // namespace mirrortrain
