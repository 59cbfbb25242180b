#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/targets.h"

// Losses that compare distributions, counts, directions or sides.
namespace mirrortrain::losses {

struct KlDivergence {
  static constexpr std::string_view kName = "kl_divergence";
  static constexpr Targets kTargets = Targets::kProbabilities;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kKlDivergence); }

  static config::Section<KlDivergence> section() {
    return config::Section<KlDivergence>(
        "Kullback-Leibler divergence: the sum of label * log(label / output), for probabilities.");
  }
};

struct Poisson {
  static constexpr std::string_view kName = "poisson";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kPoisson); }

  static config::Section<Poisson> section() {
    return config::Section<Poisson>("Poisson loss: the mean of output - label * log(output), for outputs above 0.");
  }
};

struct Hinge {
  static constexpr std::string_view kName = "hinge";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kHinge); }

  static config::Section<Hinge> section() {
    return config::Section<Hinge>(
        "Hinge loss: the mean of max(1 - label * output, 0), for labels -1 and 1; a label of 0 counts as -1.");
  }
};

struct CosineSimilarity {
  static constexpr std::string_view kName = "cosine_similarity";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kCosineSimilarity); }

  static config::Section<CosineSimilarity> section() {
    return config::Section<CosineSimilarity>(
        "Cosine similarity with a minus sign: -1 where output and label have the same direction, 1 where opposite.");
  }
};

}  // namespace mirrortrain::losses
