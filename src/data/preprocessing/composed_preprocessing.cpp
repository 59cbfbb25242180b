#include "data/preprocessing/composed_preprocessing.h"

#include "data/key_aliases.h"

namespace mirrortrain::data {

config::Section<Composed> Composed::section() {
  return config::Section<Composed>("A transform that is composed of others.")
      .key("factor", &Composed::factor,
           "The strength of the others: the factor of each, [lower, upper], or f for [0, f].", config::between(0, 1))
      .key("interpolation", &Composed::interpolation, "How pixels of moved pictures are made of those around them.",
           kInterpolationAliases)
      .include<OfRange>();
}

config::Section<RandAugment> RandAugment::section() {
  return config::Section<RandAugment>(
             "Changes training pictures by other transforms, drawn at random: random_shear, random_translation, "
             "random_rotation, random_brightness, random_color_degeneration, random_contrast, random_sharpness, "
             "random_posterization, solarization, auto_contrast, equalization.")
      .key("num_ops", &RandAugment::num_ops, "How many transforms, one after the other.", config::between(1, 100))
      .include<Composed>();
}

config::Section<AugMix> AugMix::section() {
  return config::Section<AugMix>(
             "Mixes training pictures with what chains of other transforms, drawn at random, make of them: those of "
             "rand_augment.")
      .key("num_chains", &AugMix::num_chains, "How many chains.", config::between(1, 100))
      .key("chain_depth", &AugMix::chain_depth, "The most transforms of a chain, which may have fewer.",
           config::between(1, 100))
      .key("alpha", &AugMix::alpha,
           "The chains' weights are drawn from a Dirichlet distribution of alpha, and the picture's own from "
           "Beta(alpha, alpha).",
           config::greater_than(0))
      .key("all_ops", &AugMix::all_ops,
           "Whether with random_brightness, random_color_degeneration, random_contrast and random_sharpness.")
      .include<Composed>();
}

}  // namespace mirrortrain::data
