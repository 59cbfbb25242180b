#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/step_kernels.h"
#include "strategy/gradient_options.h"
#include "strategy/step_spec.h"
#include "strategy/topology.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// How gradients become weights.
struct UpdateOptions {
  scalar::UpdateRule rule;
  GradientOptions gradients;
  bool reduced = false;          ///< the domain's first replica holds the sum of the replicas' gradients already
  bool keeps_gradients = false;  ///< gradients are kept first, in a store that has the memory for it
};

/// Brings the gradients of one memory's replicas to the weights there. Groups that the replicas share are cut in
/// shards, one for each lane; where every replica has its own values, its lane updates them.
class WeightUpdate {
 public:
  /// `replicas`: those of the store, by their numbers in the run, which has `all_replicas`. `kernels` and `variables`
  /// must outlive it. Throws UsageError where more gradients would be added than the kernels
  /// can.
  WeightUpdate(const VariableStore& variables, const StepKernels& kernels, std::vector<int> replicas, int all_replicas,
               const UpdateOptions& options);

  /// A variable whose gradient the update makes itself (see product_gradients.h), on host memory alone. `operands`: by
  /// replica, as large as a replica's examples get; their rows are set in each step. `rows_per_example`: of x and dy.
  void add_product(int group, const ProductWeight& weight, std::vector<ProductSource> operands,
                   std::int64_t rows_per_example);

  /// Before the lanes begin with the step. Returns what every lane's `params` are to hold when its work begins.
  StepParams begin(const StepSpec& step);

  /// Whether gradients are kept first. All lanes do `accumulate`, and if `needs_norm` meet, do `scale_to_norms` and
  /// meet again, then `measure` if `measures` and meet again, and then `apply`; otherwise they just do `apply`.
  bool keeps_gradients() const { return keeps_gradients_; }
  bool needs_norm() const { return options_.clip_norm.has_value(); }
  bool measures() const { return scalar::scales_by_norms(rule_); }
  void accumulate(const DomainLane& lane) const;
  /// Whether all gradients are finite that `accumulate` left; waits for the stream. Once every lane is done with it.
  bool gradients_are_finite(Stream& stream) const;
  void scale_to_norms(const DomainLane& lane) const;
  void measure(const DomainLane& lane) const;
  void apply(const DomainLane& lane) const;

  /// Whether the norm has a part that replicas do not share. Then all lanes do `sum_own_squares` before
  /// `scale_to_norms`: it puts what this memory's replicas add to the mean over all replicas into the first of `norms`,
  /// and where replicas are on several memories, the lanes add these up.
  bool needs_own_squares() const;
  void sum_own_squares(const DomainLane& lane) const;

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
    ProductWeight weight;
    std::vector<ProductSource> sources;
    std::int64_t rows_per_example = 1;
  };
  template <class Work>
  void for_each_range(const DomainLane& lane, const Work& work) const;

  const StepKernels& kernels_;
  std::vector<int> replicas_;
  int all_replicas_;
  scalar::UpdateRule rule_;
  GradientOptions options_;
  bool reduced_, keeps_gradients_;
  std::vector<Part> parts_;
  std::vector<Product> products_;
  StepSpec step_;
};

}  // namespace mirrortrain
