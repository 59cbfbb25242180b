#include "train/prediction.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "model/losses/targets.h"

namespace mirrortrain {
namespace {

bool takes_logits(const Loss& loss) {
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.from_logits; }) {
          return options.from_logits;
        } else {
          return false;
        }
      },
      loss);
}

std::vector<float> softmax(std::span<const float> logits) {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  std::vector<float> shares;
  for (const float logit : logits)
    shares.push_back(static_cast<float>(std::exp(static_cast<double>(logit) - largest) / sum));
  return shares;
}

float sigmoid(float logit) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit)))); }

}  // namespace

OutputMeaning output_meaning(const CheckedConfiguration& checked, std::vector<std::string> classes) {
  const Loss& loss = checked.values().loss->value;
  OutputMeaning meaning;
  meaning.shape = checked.model->evaluation.graph.spec(checked.model->evaluation.output).shape;
  meaning.is_logits = takes_logits(loss);
  meaning.classes = std::move(classes);
  if (meaning.shape.rank() != 1) return meaning;
  const Targets targets = targets_of(loss);
  if (targets != Targets::kClassNumbers && targets != Targets::kProbabilities) return meaning;
  meaning.kind = meaning.shape[0] == 1 ? OutputMeaning::Kind::kYesOrNo : OutputMeaning::Kind::kClasses;
  const bool is_binary = std::holds_alternative<losses::BinaryCrossentropy>(loss) ||
                         std::holds_alternative<losses::BinaryFocalCrossentropy>(loss);
  if (is_binary && meaning.shape[0] > 1) meaning.kind = OutputMeaning::Kind::kNumbers;
  return meaning;
}

std::int64_t OutputMeaning::class_of(std::span<const float> output) const {
  if (kind == Kind::kYesOrNo) return output[0] > (is_logits ? 0.0f : 0.5f) ? 1 : 0;
  return std::max_element(output.begin(), output.end()) - output.begin();
}

double OutputMeaning::probability_of_class(std::span<const float> output) const {
  const auto largest = static_cast<double>(std::ranges::max(probabilities(output)));
  return kind == Kind::kYesOrNo && class_of(output) == 0 ? 1 - largest : largest;
}

std::string OutputMeaning::name_of(std::int64_t number) const {
  return static_cast<std::size_t>(number) < classes.size() ? classes[static_cast<std::size_t>(number)] : "";
}

std::vector<float> OutputMeaning::probabilities(std::span<const float> output) const {
  if (kind == Kind::kClasses && is_logits) return softmax(output);
  std::vector<float> values(output.begin(), output.end());
  if (is_logits) std::ranges::transform(values, values.begin(), sigmoid);
  return values;
}

}  // namespace mirrortrain
