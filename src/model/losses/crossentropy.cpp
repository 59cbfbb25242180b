#include "model/losses/crossentropy.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace mirrortrain::losses {
namespace {

std::optional<std::int64_t> class_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

config::Section<ClassWeight> ClassWeight::section() {
  return config::Section<ClassWeight>("Weights of classes.")
      .key("class_weight", &ClassWeight::weights,
           "How much the examples of a class count in the training loss, by the class's number, as in `{0: 1.0, 1: "
           "5.0}`; classes that are not listed count 1. `balanced`: so that all classes count alike, examples / "
           "(classes x examples of the class) of the training data. The sum of the weighted losses is still divided by "
           "the number of examples. Evaluation and metrics are not weighted.",
           config::between(0, 1e30));
}

void ClassWeight::check(std::int64_t classes, config::Errors& errors) const {
  if (is_balanced()) return;
  std::map<std::int64_t, int> seen;
  for (const auto& [key, weight] : std::get<ListedWeights>(weights.value).entries) {
    const auto number = class_number(key);
    if (!number || *number < 0 || *number >= classes) {
      errors.add(
          weights.place, weights.path,
          fmt::format("expected class numbers from 0 to {}, found '{}'; classes count from 0, words as labels in "
                      "sorted order",
                      classes - 1, shortened(key, 200)));
    } else if (++seen[*number] == 2) {
      errors.add(weights.place, weights.path, fmt::format("the class {} is listed twice", *number));
    }
  }
}

std::map<std::int64_t, float> ClassWeight::by_class() const {
  std::map<std::int64_t, float> weights_of;
  if (is_balanced()) return weights_of;
  for (const auto& [key, weight] : std::get<ListedWeights>(weights.value).entries) {
    weights_of.emplace(class_number(key).value(), static_cast<float>(weight));
  }
  return weights_of;
}

config::Section<BinaryCrossentropy> BinaryCrossentropy::section() {
  return config::Section<BinaryCrossentropy>("Binary crossentropy, for outputs that are each true or false.")
      .key("from_logits", &BinaryCrossentropy::from_logits,
           "Whether the model's output is logits rather than probabilities.")
      .key("label_smoothing", &BinaryCrossentropy::label_smoothing,
           "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
           config::between(0, 1))
      .include(&BinaryCrossentropy::class_weight)
      .include<LastAxis>()
      .include<LossCommon>();
}

config::Section<BinaryFocalCrossentropy> BinaryFocalCrossentropy::section() {
  using Self = BinaryFocalCrossentropy;
  return config::Section<Self>(
             "Binary crossentropy that gives less weight to examples that are classified well (Lin et al., 2017).")
      .key("apply_class_balancing", &Self::apply_class_balancing,
           "Whether to weight true labels by `alpha` and false ones by 1 - `alpha`.")
      .key("alpha", &Self::alpha, "Weight of true labels, with `apply_class_balancing`.", config::between(0, 1))
      .key("gamma", &Self::gamma, "Focusing parameter: the exponent of (1 - the label's probability).",
           config::at_least(0))
      .key("from_logits", &Self::from_logits, "Whether the model's output is logits rather than probabilities.")
      .key("label_smoothing", &Self::label_smoothing,
           "Label smoothing: 0 leaves the labels as they are, 1 makes both classes equally likely.",
           config::between(0, 1))
      .include(&Self::class_weight)
      .include<LastAxis>()
      .check("alpha",
             [](const Self& focal) -> std::string {
               return focal.alpha == Self{}.alpha || focal.apply_class_balancing
                          ? ""
                          : "has no effect without `apply_class_balancing: true`";
             })
      .include<LossCommon>();
}

config::Section<CategoricalCrossentropy> CategoricalCrossentropy::section() {
  return config::Section<CategoricalCrossentropy>("Crossentropy between classes and one-hot labels.")
      .advice("label_smoothing",
              "it belongs to categorical_crossentropy, for which data.preprocessing lists one_hot, and to "
              "binary_crossentropy")
      .key("from_logits", &CategoricalCrossentropy::from_logits,
           "Whether the model's output is logits rather than probabilities.")
      .key("label_smoothing", &CategoricalCrossentropy::label_smoothing,
           "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
           config::between(0, 1))
      .include(&CategoricalCrossentropy::class_weight)
      .include<LastAxis>()
      .include<LossCommon>();
}

config::Section<SparseCategoricalCrossentropy> SparseCategoricalCrossentropy::section() {
  return config::Section<SparseCategoricalCrossentropy>(
             "Crossentropy between classes and labels that are class numbers.")
      .key("from_logits", &SparseCategoricalCrossentropy::from_logits,
           "Whether the model's output is logits rather than probabilities.")
      .key("ignore_class", &SparseCategoricalCrossentropy::ignore_class,
           "A label whose positions are left out, as padding is: `-1`, `255` or the number of a class.",
           config::aliases("ignore_index, ignore_label"))
      .include(&SparseCategoricalCrossentropy::class_weight)
      .include<LastAxis>()
      .include<LossCommon>();
}

config::Section<CategoricalGeneralizedCrossEntropy> CategoricalGeneralizedCrossEntropy::section() {
  using Self = CategoricalGeneralizedCrossEntropy;
  return config::Section<Self>(
             "(1 - p^q) / q for the probability p of the label's class, which wrong labels disturb less than a "
             "crossentropy (Zhang and Sabuncu, 2018).")
      .key("q", &Self::q, "Near 0 it is the crossentropy, near 1 the mean absolute error.", config::greater_than(0),
           config::less_than(1))
      .include(&Self::class_weight)
      .include<LossCommon>();
}

}  // namespace mirrortrain::losses
