#include "train/runs/page_predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "data/feeding/example_picture.h"
#include "data/sources/abilities.h"
#include "train/inference/class_report.h"
#include "train/inference/generate.h"
#include "train/inference/number_report.h"
#include "train/inference/predict.h"
#include "train/inference/worst_mistakes.h"

namespace mirrortrain {
namespace {

/// How good an output's predictions are; either of classes or of numbers.
struct OutputQuality {
  std::optional<ClassReport> classes;
  std::optional<WorstMistakes> worst;
  std::optional<NumberReport> numbers;
};

using Qualities = std::map<std::size_t, OutputQuality>;

/// The first input of pictures; nothing if there is none.
std::optional<std::size_t> picture_input(const CheckedConfiguration& checked, const data::Dataset& dataset) {
  for (std::size_t i = 0; i < dataset.inputs().size(); ++i) {
    if (data::holds_pictures(dataset, i, checked.examples.inputs[i].shape)) return i;
  }
  return std::nullopt;
}

Qualities shown_outputs(const std::vector<OutputMeaning>& meanings, const data::Dataset& dataset) {
  Qualities outputs;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].tells_classes()) {
      const bool has_labels = dataset.labels(i).row_elements() == meanings[i].elements();
      if (has_labels) outputs[i].numbers.emplace();
    } else if (why_not_counted(meanings[i]).empty()) {
      outputs[i].classes.emplace(meanings[i]);
      outputs[i].worst.emplace(meanings[i]);
    }
  }
  return outputs;
}

void add_mistakes(const CheckedConfiguration& checked, const PageExamples& examples,
                  const std::vector<OutputMeaning>& meanings, const Qualities& outputs, report::RunPage& page) {
  const auto has_classes = [](const auto& output) { return output.second.classes.has_value(); };
  if (std::ranges::none_of(outputs, has_classes)) return;
  const auto pictures = picture_input(checked, examples.dataset);
  if (!pictures) {
    page.why_no_mistakes = "Left out: the examples are no pictures.";
    return;
  }
  bool are_by_step = true;
  for (const auto& [number, output] : outputs) {
    if (!output.worst) continue;
    are_by_step = are_by_step && meanings[number].is_by_step();
    for (report::Mistake& mistake : output.worst->pictures(examples.dataset, *pictures)) {
      if (!meanings[number].name.empty()) mistake.truth = fmt::format("{}: {}", meanings[number].name, mistake.truth);
      page.mistakes.push_back(std::move(mistake));
    }
  }
  if (are_by_step) {
    page.why_no_mistakes = "Left out: each picture has a class for each of its pixels.";
  } else if (page.mistakes.empty()) {
    page.why_no_mistakes = fmt::format("No {} picture is taken for another class.", data::name_of(examples.split));
  }
}

}  // namespace

bool has_shown_outputs(const CheckedConfiguration& checked, const data::Adapted* adapted, report::RunPage& page) {
  bool has_any = false;
  for (const OutputMeaning& meaning : output_meanings(checked, adapted)) {
    const std::string why = meaning.tells_classes() ? why_not_counted(meaning) : "";
    if (!why.empty()) page.why_no_classes = fmt::format("Left out: {}.", why);
    has_any = has_any || why.empty();
  }
  return has_any;
}

std::vector<std::int32_t> add_predictions(const CheckedConfiguration& checked, const PageExamples& examples,
                                          report::RunPage& page) {
  constexpr std::size_t kMostTokens = 24;
  const std::vector<OutputMeaning> meanings = output_meanings(checked, &examples.adapted);
  Qualities outputs = shown_outputs(meanings, examples.dataset);
  if (outputs.empty()) return {};
  std::vector<std::int32_t> beginning;
  predict_labelled(
      checked, meanings, examples.dataset, examples.adapted, examples.load_weights,
      [&](std::size_t output, std::int64_t row, std::int64_t label, std::span<const float> prediction) {
        if (row == 0 && beginning.size() < kMostTokens) beginning.push_back(static_cast<std::int32_t>(label));
        const auto found = outputs.find(output);
        if (found == outputs.end()) return;
        found->second.classes->add(label, prediction);
        if (!meanings[output].is_by_step()) found->second.worst->add(row, label, prediction);
      },
      [&](std::size_t output, std::span<const double> labels, std::span<const float> prediction) {
        const auto found = outputs.find(output);
        if (found != outputs.end()) found->second.numbers->add(labels, prediction);
      });
  page.classes.clear();
  for (const auto& [number, output] : outputs) {
    const auto describe = [&](auto& figures) {
      figures.split = data::name_of(examples.split);
      figures.step = examples.step;
      figures.output = meanings[number].name;
    };
    if (output.numbers) {
      report::NumberFigures figures = output.numbers->figures();
      describe(figures);
      if (figures.count > 0) page.numbers.push_back(std::move(figures));
    } else {
      auto figures = report::class_figures(output.classes->to_json());
      describe(*figures);
      page.classes.push_back(*std::move(figures));
    }
  }
  add_mistakes(checked, examples, meanings, outputs, page);
  return beginning;
}

void add_texts(CheckedConfiguration checked, const PageExamples& examples, std::span<const std::int32_t> beginning,
               report::RunPage& page) {
  constexpr std::int64_t kTokens = 300;
  if (!data::is_running_text(checked.values().data.train.value) || beginning.empty()) return;
  try {
    TextGenerator generator(std::move(checked), examples.adapted, page.name);
    examples.load_weights(generator.strategy());
    const std::string prompt = generator.text_of(beginning);
    for (const double temperature : {0.8, 0.0}) {
      report::GeneratedText one{prompt, "", temperature};
      generator.generate(prompt, kTokens, {.temperature = temperature}, [&](std::string_view text) {
        one.text += text;
        return true;
      });
      page.texts.push_back(std::move(one));
    }
  } catch (const UsageError&) {  // generate says why to those who call it
  }
}

}  // namespace mirrortrain
