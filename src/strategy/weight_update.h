#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/product_update.h"
#include "kernels/cpu/update.h"
#include "model/update_rule.h"
#include "strategy/gradient_options.h"
#include "strategy/variable_store.h"

namespace mirrortrain {

/// What a step's gradients are for.
struct UpdateStep {
  std::int64_t examples = 0;   ///< of the global batch
  std::int64_t gradients = 1;  ///< since the last update, this step's included
  bool applies = true;         ///< whether the weights are updated in this step
  std::int64_t updates = 1;    ///< counts the update from 1
  double learning_rate = 0;
};

/// Brings the gradients of the replicas to the weights. Groups that the replicas share are cut in shards, one for each
/// lane; where every replica has its own values, its lane updates them.
class WeightUpdate {
 public:
  /// `reduced`: every replica's gradients already hold the sum over the replicas.
  WeightUpdate(const VariableStore& variables, const UpdateRule& rule, const GradientOptions& options, bool reduced);

  /// A variable whose gradient the update makes itself (see product_gradients.h). `operands`: by replica, as large as a
  /// replica's examples get; their rows are set in each step. `rows_per_example`: of x and dy.
  void add_product(int group, const cpu::ProductWeight& weight, std::vector<cpu::ProductSource> operands,
                   std::int64_t rows_per_example);

  /// Before the lanes begin with the step.
  void begin(const UpdateStep& step);

  /// A lane among others, with the replicas that run on it.
  struct LaneShare {
    int lane = 0, lanes = 1, threads = 1;
    std::span<const int> replicas;
  };

  /// Whether gradients are kept first. All lanes do `accumulate`, meet if `needs_norm`, and then `apply`; otherwise
  /// they just do `apply`.
  bool accumulates() const { return options_.accumulates(); }
  bool needs_norm() const { return options_.clip_norm.has_value(); }
  void accumulate(const LaneShare& share) const;
  void apply(const LaneShare& share) const;

 private:
  struct Part {
    const VariableGroup* group = nullptr;
    std::vector<cpu::GradientSource> sources;  ///< in the replicas' order; one where they are reduced
    float regularization = 1;
  };
  struct Product {
    const VariableGroup* group = nullptr;
    cpu::ProductWeight weight;
    std::vector<cpu::ProductSource> sources;
    std::int64_t rows_per_example = 1;
  };
  template <class Work>
  void for_each_range(const LaneShare& share, const Work& work) const;
  float clip_factor(double squares) const;

  cpu::UpdateRule rule_;
  GradientOptions options_;
  bool reduced_;
  int replicas_;
  std::vector<Part> parts_;
  std::vector<Product> products_;
  UpdateStep step_;
};

}  // namespace mirrortrain
