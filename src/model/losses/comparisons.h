#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

// Losses that compare distributions, counts, directions or sides.
namespace mirrortrain::losses {

struct KlDivergence : LossCommon {
  static constexpr std::string_view kName = "kl_divergence";
  static constexpr std::string_view kAliases = "kl_div_loss, kld";
  static constexpr Targets kTargets = Targets::kProbabilities;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kKlDivergence); }

  static config::Section<KlDivergence> section();
};

struct Poisson : LossCommon {
  static constexpr std::string_view kName = "poisson";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kPoisson); }

  static config::Section<Poisson> section();
};

struct Hinge : LossCommon {
  static constexpr std::string_view kName = "hinge";
  static constexpr Targets kTargets = Targets::kSigns;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kHinge); }

  static config::Section<Hinge> section();
};

struct CosineSimilarity : LossCommon, LastAxis {
  static constexpr std::string_view kName = "cosine_similarity";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kCosineSimilarity); }

  static config::Section<CosineSimilarity> section();
};

}  // namespace mirrortrain::losses
