#include "model/losses/crossentropy.h"

namespace mirrortrain::losses {

config::Section<BinaryCrossentropy> BinaryCrossentropy::section() {
  return config::Section<BinaryCrossentropy>("Binary crossentropy, for outputs that are each true or false.")
      .key("from_logits", &BinaryCrossentropy::from_logits,
           "Whether the model's output is logits rather than probabilities.")
      .key("label_smoothing", &BinaryCrossentropy::label_smoothing,
           "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
           config::between(0, 1))
      .include(&BinaryCrossentropy::class_weight)
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
      .include<LossCommon>();
}

config::Section<SparseCategoricalCrossentropy> SparseCategoricalCrossentropy::section() {
  return config::Section<SparseCategoricalCrossentropy>(
             "Crossentropy between classes and labels that are class numbers.")
      .key("from_logits", &SparseCategoricalCrossentropy::from_logits,
           "Whether the model's output is logits rather than probabilities.")
      .include(&SparseCategoricalCrossentropy::class_weight)
      .include<LossCommon>();
}

}  // namespace mirrortrain::losses
