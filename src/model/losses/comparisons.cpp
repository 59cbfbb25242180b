#include "model/losses/comparisons.h"

namespace mirrortrain::losses {

config::Section<KlDivergence> KlDivergence::section() {
  return config::Section<KlDivergence>(
             "Kullback-Leibler divergence: the sum of label * log(label / output), for probabilities.")
      .include<LossCommon>();
}

config::Section<Poisson> Poisson::section() {
  return config::Section<Poisson>("Poisson loss: the mean of output - label * log(output), for outputs above 0.")
      .include<LossCommon>();
}

config::Section<Hinge> Hinge::section() {
  return config::Section<Hinge>(
             "Hinge loss: the mean of max(1 - label * output, 0), for labels -1 and 1; a label of 0 counts as -1.")
      .include<LossCommon>();
}

config::Section<CosineSimilarity> CosineSimilarity::section() {
  return config::Section<CosineSimilarity>(
             "Cosine similarity with a minus sign: -1 where output and label have the same direction, 1 where "
             "opposite.")
      .include<LastAxis>()
      .include<LossCommon>();
}

}  // namespace mirrortrain::losses
