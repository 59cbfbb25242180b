#include "train/runs/predicted_page.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "data/feeding/example_picture.h"
#include "train/checkpoint/checkpoint.h"
#include "train/inference/class_report.h"
#include "train/inference/predict.h"
#include "train/inference/worst_mistakes.h"
#include "train/runs/run_report.h"
#include "train/runs/run_weights.h"
#include "train/runs/summary.h"
#include "train/session/run.h"

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

/// The first input of pictures; nothing if there is none.
std::optional<std::size_t> picture_input(const CheckedConfiguration& checked, const data::Dataset& dataset) {
  for (std::size_t i = 0; i < dataset.inputs().size(); ++i) {
    if (data::holds_pictures(dataset, i, checked.examples.inputs[i].shape)) return i;
  }
  return std::nullopt;
}

/// Adds the parts that need the data and the weights: the classes of each output that predicts some, and the
/// misclassified pictures.
void add_predictions(const NamedRun& run, const CheckedConfiguration& checked, report::RunPage& page) {
  const std::optional<data::Adapted> kept = read_adapted(run.folder);
  const std::vector<OutputMeaning> meanings = output_meanings(checked, kept ? &*kept : nullptr);
  struct OfOutput {
    ClassReport classes;
    WorstMistakes worst;
  };
  std::map<std::size_t, OfOutput> outputs;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].tells_classes()) continue;
    if (const std::string why = why_not_counted(meanings[i]); !why.empty()) {
      page.why_no_classes = fmt::format("Left out: {}.", why);
    } else {
      outputs.emplace(i, OfOutput{ClassReport(meanings[i]), WorstMistakes(meanings[i])});
    }
  }
  if (outputs.empty()) return;
  const auto [split, loaded] = read_labelled_split(checked, kept ? &*kept : nullptr);
  warn_of_changed_data(run.folder.checkpoints(), split, as_kept(checked, loaded.dataset, kept ? &*kept : nullptr),
                       data::is_drawn_from_train(checked.values().data, split));
  const RunWeights weights = weights_of(run);
  spdlog::info("{}: predicting the {} {} examples with {}", page.name, loaded.dataset.rows(), data::name_of(split),
               weights.file.string());
  predict_classes(
      checked, meanings, loaded.dataset, kept ? *kept : loaded.adapted,
      [&](Strategy& strategy) { load_run_weights(weights, strategy); },
      [&](std::size_t output, std::int64_t row, std::int64_t label, std::span<const float> prediction) {
        const auto found = outputs.find(output);
        if (found == outputs.end()) return;
        found->second.classes.add(label, prediction);
        if (!meanings[output].is_by_step()) found->second.worst.add(row, label, prediction);
      });
  page.classes.clear();
  for (const auto& [number, output] : outputs) {
    auto figures = report::class_figures(output.classes.to_json());
    figures->split = data::name_of(split);
    figures->step = weights.step;
    figures->output = meanings[number].name;
    page.classes.push_back(*std::move(figures));
  }
  const auto pictures = picture_input(checked, loaded.dataset);
  if (!pictures) {
    page.why_no_mistakes = "Left out: the examples are no pictures.";
    return;
  }
  for (const auto& [number, output] : outputs) {
    for (report::Mistake& mistake : output.worst.pictures(loaded.dataset, *pictures)) {
      if (!meanings[number].name.empty()) mistake.truth = fmt::format("{}: {}", meanings[number].name, mistake.truth);
      page.mistakes.push_back(std::move(mistake));
    }
  }
  const bool are_by_step =
      std::ranges::all_of(outputs, [&](const auto& output) { return meanings[output.first].is_by_step(); });
  if (are_by_step) {
    page.why_no_mistakes = "Left out: each picture has a class for each of its pixels.";
  } else if (page.mistakes.empty()) {
    page.why_no_mistakes = fmt::format("No {} picture is taken for another class.", data::name_of(split));
  }
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
  try {
    add_predictions(run, *checked, page);
  } catch (const Error& error) {
    spdlog::warn("{}: no classes and no pictures: {}", name, error.what());
    leave_out(error.what());
  }
  return page;
}

}  // namespace mirrortrain
