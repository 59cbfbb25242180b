#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/loading/model_fit.h"
#include "data/pictures/step_shapes.h"

namespace mirrortrain::data {
namespace {

/// The inputs whose numbers an embedding looks up: a number between two words is none.
std::string lookups_mismatch(const Mixing& mixing, const ExampleSpec& spec) {
  std::vector<std::string> numbers;
  std::string looked_up;
  for (const InputSpec& input : spec.inputs) {
    if (input.numbers_below == 0) {
      numbers.push_back(input.name);
    } else if (mixing.mixes(input.name)) {
      looked_up = input.name;
    }
  }
  if (looked_up.empty()) return "";
  const std::string what = spec.inputs.size() == 1
                               ? "mixes numbers, and those that the model's embedding looks up are words"
                               : fmt::format(
                                     "mixes numbers, and those of '{}', which the model's embedding looks up, "
                                     "are words",
                                     looked_up);
  return numbers.empty() ? what + "; leave it out"
                         : fmt::format("{}; name the inputs to mix: inputs: [{}]", what, fmt::join(numbers, ", "));
}

std::string labels_mismatch(bool cuts, const LabelSpec& label, const ExampleSpec& spec) {
  const std::string whose = spec.labels.size() > 1 ? fmt::format(" of the output '{}'", label.name) : "";
  if (label.signs) {
    return fmt::format("mixes labels, and hinge losses know only two{}; take binary_crossentropy", whose);
  }
  const bool are_classes = label.dtype == DType::kInt32 || label.classes > 0;
  const bool are_maps = label.shape.rank() >= 2;  // their size is known with the data
  if (!are_classes || (cuts && are_maps)) return "";
  return fmt::format(
      "mixes labels, and those{} are class numbers; put one_hot: {{depth: {}}} before it, and take "
      "categorical_crossentropy as the loss",
      whose, label.classes > 0 ? fmt::to_string(label.classes) : "...");
}

}  // namespace

std::string mixing_mismatch(const std::vector<PreprocessingStep>& steps, std::size_t number, const ExampleSpec& spec) {
  const Mixing* const mixing = as_mixing(steps[number]);
  if (mixing == nullptr) return "";
  if (std::string mismatch = lookups_mismatch(*mixing, spec); !mismatch.empty()) return mismatch;
  const std::vector<PreprocessingStep> after(steps.begin() + static_cast<std::ptrdiff_t>(number) + 1, steps.end());
  for (const InputSpec& input : spec.inputs) {
    if (!mixing->mixes(input.name)) continue;
    const std::vector<PreprocessingStep> own = steps_of_input(after, input.name);
    const auto of_pictures = std::ranges::find_if(own, is_of_pictures);
    if (of_pictures != own.end()) {
      return fmt::format("mixes pictures that are otherwise ready; put it behind {}", step_name(*of_pictures));
    }
    const auto binning = std::ranges::find_if(own, as_binning);
    if (binning != own.end()) {
      return fmt::format("mixes examples of which each number is in its bin; put it behind {}", step_name(*binning));
    }
  }
  if (std::ranges::any_of(after, [](const auto& step) { return config::holds_alternative<OneHot>(step); })) {
    return "mixes labels, which have to be numbers by then; put it behind one_hot";
  }
  for (const LabelSpec& label : spec.labels) {
    std::string mismatch = labels_mismatch(config::holds_alternative<CutMix>(steps[number]), label, spec);
    if (!mismatch.empty()) return mismatch;
  }
  return "";
}

}  // namespace mirrortrain::data
