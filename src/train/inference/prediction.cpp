#include "train/inference/prediction.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

#include "model/losses/targets.h"
#include "model/metrics.h"

namespace mirrortrain {
namespace {

void softmax(std::span<float> logits) {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  const auto power = [largest](float logit) { return std::exp(static_cast<double>(logit) - largest); };
  double sum = 0;
  for (const float logit : logits) sum += power(logit);
  for (float& logit : logits) logit = static_cast<float>(power(logit) / sum);
}

float sigmoid(float logit) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit)))); }

OutputMeaning meaning_of(const Objective& objective, const Shape& shape) {
  const Loss& loss = objective.loss.value;
  OutputMeaning meaning;
  meaning.shape = shape;
  meaning.is_logits = takes_logits(loss);
  meaning.ignored_label = ignored_label(loss);
  const Targets targets = targets_of(loss);
  const bool is_binary = config::holds_alternative<losses::BinaryCrossentropy>(loss) ||
                         config::holds_alternative<losses::BinaryFocalCrossentropy>(loss);
  if (targets != Targets::kClassNumbers && targets != Targets::kProbabilities) return meaning;
  if (meaning.shape.rank() == 0) return meaning;
  if (meaning.shape.back() == 1) {
    // At each of many time steps, it may be the brightness of a pixel or the loudness of a sound, as in an autoencoder.
    const bool wants_classes =
        std::ranges::any_of(objective.metrics, [](const auto& metric) { return is_of_classes(metric.value); });
    if (!meaning.is_by_step() || wants_classes) meaning.kind = OutputMeaning::Kind::kYesOrNo;
  } else if (!is_binary) {
    meaning.kind = OutputMeaning::Kind::kClasses;
  }
  return meaning;
}

}  // namespace

std::vector<OutputMeaning> output_meanings(const CheckedConfiguration& checked, const data::Adapted* adapted) {
  std::vector<OutputMeaning> meanings;
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) {
    const Objective& objective = checked.objectives[i];
    const ModelGraph& graph = checked.model->evaluation;
    OutputMeaning& meaning =
        meanings.emplace_back(meaning_of(objective, graph.graph.spec(graph.outputs[i].value).shape));
    meaning.layer = checked.model->outputs[i].name;
    if (checked.objectives.size() > 1) meaning.name = meaning.layer;
    if (adapted != nullptr) meaning.classes = adapted->classes_of(checked.model->outputs[i].name);
  }
  return meanings;
}

std::vector<std::string> names_of_probabilities(const std::vector<OutputMeaning>& meanings,
                                                const std::vector<std::string>& inputs) {
  std::set<std::string> taken(inputs.begin(), inputs.end());
  for (const OutputMeaning& meaning : meanings) taken.insert(meaning.layer);
  std::vector<std::string> names;
  for (const OutputMeaning& meaning : meanings) {
    std::string name = meanings.size() == 1 ? "probabilities" : meaning.layer + "_probabilities";
    while (!taken.insert(name).second) name += "_";
    names.push_back(meaning.has_probabilities() ? name : "");
  }
  return names;
}

bool has_nan(std::span<const float> prediction) {
  return std::ranges::any_of(prediction, [](float value) { return std::isnan(value); });
}

bool has_nan(const OutputMeaning& meaning, const ExampleOutput& output) {
  if (meaning.shape.rank() == 0) return has_nan(output.values);
  for (std::int64_t step = 0; step < meaning.predictions(); ++step) {
    if (output.counts(step) && has_nan(meaning.of_step(output.values, step))) return true;
  }
  return false;
}

std::span<const float> OutputMeaning::of_step(std::span<const float> output, std::int64_t step) const {
  const auto width = static_cast<std::size_t>(shape.back());
  return output.subspan(static_cast<std::size_t>(step) * width, width);
}

std::int64_t OutputMeaning::class_of(std::span<const float> prediction) const {
  if (kind == Kind::kYesOrNo) {
    const double least = is_logits ? std::log(threshold / (1 - threshold)) : threshold;
    return static_cast<double>(prediction[0]) > least ? 1 : 0;
  }
  return std::max_element(prediction.begin(), prediction.end()) - prediction.begin();
}

double OutputMeaning::probability_of_class(std::span<const float> prediction) const {
  const auto largest = static_cast<double>(std::ranges::max(probabilities(prediction)));
  return kind == Kind::kYesOrNo && class_of(prediction) == 0 ? 1 - largest : largest;
}

std::vector<float> OutputMeaning::class_probabilities(std::span<const float> prediction) const {
  std::vector<float> values = probabilities(prediction);
  if (kind == Kind::kYesOrNo) values.insert(values.begin(), 1 - values[0]);
  return values;
}

std::string OutputMeaning::name_of(std::int64_t number) const {
  return static_cast<std::size_t>(number) < classes.size() ? classes[static_cast<std::size_t>(number)] : "";
}

std::vector<float> OutputMeaning::probabilities(std::span<const float> output) const {
  std::vector<float> values(output.begin(), output.end());
  if (!is_logits) return values;
  if (kind == Kind::kClasses) {
    const auto width = static_cast<std::size_t>(shape.back());
    for (std::size_t first = 0; first < values.size(); first += width) {
      softmax(std::span(values).subspan(first, width));
    }
  } else {
    std::ranges::transform(values, values.begin(), sigmoid);
  }
  return values;
}

}  // namespace mirrortrain
