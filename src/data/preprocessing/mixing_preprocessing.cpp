#include "data/preprocessing/mixing_preprocessing.h"

#include <algorithm>

namespace mirrortrain::data {

bool Mixing::mixes(std::string_view input) const {
  return !inputs.value || std::ranges::find(*inputs.value, input) != inputs.value->end();
}

config::Section<Mixing> Mixing::section() {
  return config::Section<Mixing>("Mixes training examples with others of their batch.")
      .key("inputs", &Mixing::inputs,
           "Names of the model's inputs that it mixes; null: all of them. Labels always are.", config::non_empty);
}

config::Section<MixUp> MixUp::section() {
  return config::Section<MixUp>(
             "Mixes each training example with another of its batch: features and labels become w times its own plus 1 "
             "- w times the other's. Labels have to be numbers, so put one_hot before it.")
      .key("alpha", &MixUp::alpha,
           "w is drawn from Beta(alpha, alpha): mostly close to 0 or 1 for a small alpha, anything between for 1.",
           config::greater_than(0), config::aliases("mixup_alpha"))
      .include<Mixing>();
}

config::Section<CutMix> CutMix::section() {
  return config::Section<CutMix>(
             "Replaces a rectangle of each training picture by that of another of its batch, and mixes their labels by "
             "its area. Labels have to be numbers, so put one_hot before it.")
      .key("factor", &CutMix::factor,
           "The picture's part that stays is drawn from Beta(a, a), with a drawn for each batch: [lower, upper], or f "
           "for [0, f].",
           config::between(0, 1))
      .include<Mixing>();
}

}  // namespace mirrortrain::data
