#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/product_update.h"
#include "kernels/step_kernels.h"
#include "strategy/gradient_options.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// What a step's gradients are for.
struct UpdateStep {
  std::int64_t examples = 0;   ///< of the global batch
  std::int64_t gradients = 1;  ///< since the last update, this step's included
  bool applies = true;         ///< whether the weights are updated in this step
  std::int64_t updates = 1;    ///< counts the update from 1
  double learning_rate = 0;
};

/// The replicas whose gradients meet on one memory, by their numbers in the run: replica i of the store is numbers[i].
struct UpdateReplicas {
  std::vector<int> numbers;
  int all = 1;
};

/// How gradients become weights.
struct UpdateOptions {
  scalar::UpdateRule rule;
  GradientOptions gradients;
  bool reduced = false;  ///< every replica's gradients already hold the sum over the replicas
};

/// Brings the gradients of one memory's replicas to the weights there. Groups that the replicas share are cut in
/// shards, one for each lane; where every replica has its own values, its lane updates them.
class WeightUpdate {
 public:
  /// `kernels` and `variables` must outlive it. Throws UsageError where more gradients would be added than the kernels
  /// can.
  WeightUpdate(const VariableStore& variables, const StepKernels& kernels, UpdateReplicas replicas,
               const UpdateOptions& options);

  /// A variable whose gradient the update makes itself (see product_gradients.h), on host memory alone. `operands`: by
  /// replica, as large as a replica's examples get; their rows are set in each step. `rows_per_example`: of x and dy.
  void add_product(int group, const cpu::ProductWeight& weight, std::vector<cpu::ProductSource> operands,
                   std::int64_t rows_per_example);

  /// Before the lanes begin with the step. Returns what every lane's `params` are to hold when its work begins.
  StepParams begin(const UpdateStep& step);

  /// A lane among those of the memory, with the replicas that run on it and memory of its device.
  struct LaneShare {
    int lane = 0, lanes = 1, threads = 1;
    std::span<const int> replicas;  ///< of the store
    Stream* stream = nullptr;
    StepParams* params = nullptr;  ///< one for what is shared, then one for each of `replicas`
    double* norms = nullptr;       ///< as many
  };

  /// Whether gradients are kept first. All lanes do `accumulate`, meet if `needs_norm`, and then `apply`; otherwise
  /// they just do `apply`.
  bool accumulates() const { return options_.accumulates(); }
  bool needs_norm() const { return options_.clip_norm.has_value(); }
  void accumulate(const LaneShare& share) const;
  void apply(const LaneShare& share) const;

  /// Whether the norm has a part that replicas do not share. Then all lanes do `sum_own_squares` before `apply`: it
  /// puts what this memory's replicas add to the mean over all replicas into the first of `norms`, and where replicas
  /// are on several memories, the lanes add these up.
  bool needs_own_squares() const;
  void sum_own_squares(const LaneShare& share) const;

  /// Puts the regularization terms that the last `accumulate` or `apply` found, of replica 0's values where copies
  /// differ, into `total`. Once every lane is done with it.
  void sum_regularization(Stream& stream, double* total) const;
  bool is_regularized() const;

 private:
  struct Part {
    const VariableGroup* group = nullptr;
    std::vector<scalar::GradientSource> sources;  ///< in the replicas' order; one where they are reduced
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
  void scale_to_norms(const LaneShare& share) const;

  const StepKernels& kernels_;
  UpdateReplicas replicas_;
  scalar::UpdateRule rule_;
  GradientOptions options_;
  bool reduced_;
  std::vector<Part> parts_;
  std::vector<Product> products_;
  UpdateStep step_;
};

}  // namespace mirrortrain
