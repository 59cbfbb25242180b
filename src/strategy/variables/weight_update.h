#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/step_kernels.h"
#include "strategy/gradient_options.h"
#include "strategy/step_spec.h"
#include "strategy/topology.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The number of a lane's `norms` before those of its replicas.
inline constexpr std::size_t kSharedNorms = 3;

/// A number in `norms` to which other memories add theirs.
struct OwnSquares {
  std::size_t place;
  bool along_data = false, along_model = false;  ///< those with the same parts of the layers; those of the row
};

/// How gradients update weights.
struct UpdateOptions {
  GradientOptions gradients;
  bool reduced = false;          ///< the domain's first replica already has the sum of the replicas' gradients
  bool keeps_gradients = false;  ///< gradients are first stored, in a store that has the memory for it
  bool in_stages = false;        ///< the other memories of the row have the weights of other stages
};

/// Applies the gradients of one memory's replicas to the weights there. Groups that the replicas share are split into
/// shards, one for each lane; if every replica has its own values, its lane updates them.
class WeightUpdate {
 public:
  /// `replicas`: those of the store, by their places in the run's `mesh`. `kernels` and `variables`
  /// must outlive it. Throws UsageError if more gradients would be added than the kernels support.
  WeightUpdate(const VariableStore& variables, const StepKernels& kernels, std::vector<int> replicas, const Mesh& mesh,
               const UpdateOptions& options);

  /// A variable whose gradient the update makes itself (see deferred_gradients.h), on host memory alone. `operands`: of
  /// each of the store's `replicas` whose gradients are added, as large as a replica's examples get; their rows are set
  /// in each step. `rows_per_example`: of x and dy.
  void add_product(const VariableGroup& group, std::vector<int> replicas, const ProductWeight& weight,
                   std::vector<ProductSource> operands, std::int64_t rows_per_example);

  /// A table of a group with sparse gradients: those of all replicas, in their order, which must be there when the
  /// lanes accumulate or apply.
  void add_table(const VariableGroup& group, const TableWeight& table, std::span<const SparseRows> gradients) {
    tables_.push_back({&group, table, gradients});
  }

  /// Call before the lanes begin the step. Sets what the update reads of every lane's `params`.
  void begin(const StepSpec& step, StepParams& params);

  /// Whether gradients are stored first. Then all lanes call `accumulate`; if `needs_norm`, they meet, call
  /// `scale_to_norms` and meet again; if `measures`, they call `measure` and meet again; and then they call `apply`.
  /// Otherwise they only call `apply`.
  bool keeps_gradients() const { return keeps_gradients_; }
  bool needs_norm() const { return options_.clip_norm.has_value(); }
  bool measures() const;
  /// Whether some rules get directions of whole variables: then all lanes make their share of them (directions.h) and
  /// meet, before they call `measure` or `apply`.
  bool takes_directions() const;
  void accumulate(const DomainLane& lane) const;
  /// Writes the sum of the squares of all gradients from `accumulate` to `total`: a finite number, in double precision,
  /// unless one of them is not. Call it once every lane has finished `accumulate`.
  void sum_squares(Stream& stream, double* total) const;
  void scale_to_norms(const DomainLane& lane) const;
  void measure(const DomainLane& lane) const;
  void apply(const DomainLane& lane) const;

  /// Whether the norm has parts that other memories have. Then all lanes call `sum_own_squares` before
  /// `scale_to_norms`: it writes this memory's contributions to the numbers of `own_squares`, and the lanes add those
  /// of the other memories.
  bool needs_own_squares() const { return !own_squares_.empty(); }
  void sum_own_squares(const DomainLane& lane) const;
  /// Of what replicas do not share, the mean over all replicas; of shards and of parts of what they share, the sum.
  std::span<const OwnSquares> own_squares() const { return own_squares_; }

  /// Writes the sum of the regularization terms from the last `accumulate` or `apply`, of replica 0's values if copies
  /// differ, to `total`. Call it once every lane has finished that.
  void sum_regularization(Stream& stream, double* total) const;
  bool is_regularized() const;
  /// Whether the state of whole weights is sharded: then `apply` updates this memory's part of them.
  bool is_sharded() const;
  /// Whether the sum of regularization is that of a part, to which those of other memories are added.
  bool sums_parts() const { return divides_over_data() || !has_all_parts_ || in_stages_; }

 private:
  struct Part {
    const VariableGroup* group = nullptr;
    std::size_t piece = 0;                        ///< of the group
    int replica = 0;                              ///< of a shared group: the first that uses this copy
    std::vector<int> replicas;                    ///< whose gradients the sources are
    std::vector<scalar::GradientSource> sources;  ///< in the replicas' order; one if they are reduced
    float regularization = 1;

    const GroupPiece& of(int some_replica) const { return group->pieces(some_replica)[piece]; }
  };
  struct Product {
    const VariableGroup* group = nullptr;
    std::vector<int> replicas;  ///< of the sources; the first one's copy is updated
    ProductWeight weight;
    std::vector<ProductSource> sources;
    std::int64_t rows_per_example = 1;
  };
  struct Table {
    const VariableGroup* group = nullptr;
    TableWeight weight;
    std::span<const SparseRows> gradients;
  };
  void store_sparse(const DomainLane& lane, const Part& part, bool zeros, std::int64_t begin, std::int64_t end) const;
  /// Where the squares of a group that replicas share are added up with those of other memories; nothing if not.
  std::optional<std::size_t> place_of_squares(const VariableGroup& group) const;
  bool counts_regularization(const VariableGroup& group) const;
  /// Whether memories along the axis `data` have parts of the state, or of the weights too.
  bool divides_over_data() const;
  template <class Work>
  void for_each_range(const DomainLane& lane, const Work& work) const;

  const StepKernels& kernels_;
  std::vector<int> replicas_;
  Mesh mesh_;
  GradientOptions options_;
  bool reduced_, keeps_gradients_;
  bool has_all_parts_;  ///< of divided variables
  bool in_stages_;      ///< see UpdateOptions
  std::vector<Part> parts_;
  std::vector<Product> products_;
  std::vector<Table> tables_;
  std::vector<OwnSquares> own_squares_;
  StepSpec step_;
};

}  // namespace mirrortrain
