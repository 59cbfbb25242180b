#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "model/model.h"
#include "strategy/variables/distributed_variable.h"
#include "strategy/variables/variable_group.h"

namespace mirrortrain {

/// A bucket of gradients is full, and the next one begins, when it holds at least this many bytes; 0: one bucket per
/// group.
struct BucketBytes {
  std::uint64_t first = 0, others = 0;
};

/// The layout of a store.
struct StoreOptions {
  std::vector<VariablePolicy> policies;       ///< one per variable of the model
  std::vector<MeshIndex> places{{}};          ///< of the replicas that compute on this memory
  int microbatches = 1;                       ///< as in GroupMemory
  int all_replicas = 1;                       ///< of the run
  bool keeps_slots = true;                    ///< those of the variables' updates; false: nothing is updated here
  bool keeps_gradients = false;               ///< in addition to a step's: see GradientOptions
  bool compresses = false;                    ///< keeps the rounding errors of compressed gradients
  std::vector<std::size_t> without_gradient;  ///< trainable variables whose gradients are never stored
  std::vector<std::size_t> sparse;            ///< those of which only the sum is, if gradients are kept
  std::set<std::size_t> elsewhere;            ///< variables that only other memories have
  Communicator* adds_gradients = nullptr;     ///< in host memory; null if none does
  BucketBytes bytes_per_bucket;
  StateShard shard;  ///< of the slots, accumulated gradients and sums of what replicas share
};

/// The variables of the replicas on one memory: trainable ones grouped by aggregation and update, the others
/// separately. Copies that are equal by definition are stored once. Replicas are numbered from 0 on each memory.
class VariableStore {
 public:
  /// Values are zero until assigned. Throws Error for a policy that a variable cannot have.
  VariableStore(const Model& model, const StoreOptions& options, Device& device);

  int replicas() const { return static_cast<int>(places_here_.size()); }
  const MeshIndex& mesh_index(int replica) const { return places_here_[static_cast<std::size_t>(replica)]; }

  /// In the order of Model::variables. Of a divided one, with the shape of the largest part; of one that is elsewhere,
  /// with no elements.
  const std::vector<DistributedVariable>& variables() const { return variables_; }
  /// Whether this memory has it; else it is one of no elements.
  bool is_here(std::size_t variable) const { return !elsewhere_.contains(variable); }
  bool trainable(std::size_t variable) const { return places_[variable].group >= 0; }
  const Division& division(std::size_t variable) const { return divisions_[variable]; }

  /// Where replica `replica` writes the variable's gradient; null for a frozen variable, or one whose gradient is not
  /// stored.
  float* written_gradient(std::size_t variable, int replica) const;
  /// The replica's gradient; of microbatches, their sum.
  float* gradient(std::size_t variable, int replica) const;

  /// A trainable variable's optimizer slot: of each weight, or from number element_slots() on a state of its direction;
  /// or its gradients accumulated since the last update, as variables with the variable's copies. Not of a group that
  /// is sharded.
  DistributedVariable slot(std::size_t variable, int slot) const;
  DistributedVariable accumulated(std::size_t variable) const;
  /// The rounding errors of its compressed gradients, as this memory's copy of a variable whose value is the sum over
  /// all memories; nullopt without compression.
  std::optional<DistributedVariable> residual(std::size_t variable) const;
  /// Elements of a trainable variable that are updated here, from its element `first` on: they are those of `view` from
  /// `in_view` on.
  struct UpdatedRun {
    const scalar::UpdateGroupView* view = nullptr;
    std::int64_t first = 0, in_view = 0, count = 0;
  };
  std::vector<UpdatedRun> updated_runs(std::size_t variable, int replica) const;
  /// Whether this memory updates any of the variable: not where another one owns it.
  bool is_updated_here(std::size_t variable) const { return !updated_runs(variable, 0).empty(); }
  /// owners_of_wholes (ownership.h).
  const std::vector<int>& owners() const { return owners_; }
  /// Whether other memories have the rest of what lasts beside the variable.
  bool sharded(std::size_t variable) const {
    if (divisions_[variable].data) return true;
    return trainable(variable) && groups_[static_cast<std::size_t>(places_[variable].group)].is_sharded();
  }
  /// How many slots a variable has, and how many of these, the first, have its shape and lie in the group.
  int slots(std::size_t variable) const;
  int element_slots(std::size_t variable) const;
  /// A slot's shape; `whole`: the variable's.
  const Shape& slot_shape(std::size_t variable, int slot, const Shape& whole) const;
  /// A state of the variable's direction, in a replica's copy.
  float* state(std::size_t variable, std::size_t number, int replica) const;
  bool keeps_gradients() const { return keeps_gradients_; }
  /// Whether it keeps those of a trainable variable: not where sparse ones are applied elsewhere.
  bool keeps_gradient(std::size_t variable) const {
    if (!is_here(variable)) return keeps_gradients_;
    return keeps_gradients_ && groups_[static_cast<std::size_t>(places_[variable].group)].gradient_elements() > 0;
  }

  /// The bfloat16 counterpart of a trainable variable's copy at `master` (see VariableGroup::rounded); null for other
  /// memory.
  bfloat16* rounded(const std::byte* master);

  /// The location of a trainable variable.
  struct Place {
    int group = -1;          ///< in groups(); -1 for a frozen variable
    std::int64_t first = 0;  ///< element of the group
    bool stores_gradient = true;
  };
  const Place& place(std::size_t variable) const { return places_[variable]; }
  const std::vector<VariableGroup>& groups() const { return groups_; }

  /// The values that evaluation reads: the variable itself or, if copies can differ, memory for the result of reading
  /// it outside the replicas. Of a divided one, the replica's part.
  float* evaluation_copy(std::size_t variable, int replica = 0) const;
  bool has_evaluation_copy(std::size_t variable) const { return evaluation_copies_[variable].data() != nullptr; }

  std::size_t bytes() const;

 private:
  void add_groups(const Model& model, const StoreOptions& options);
  std::vector<UpdateState> states_kept(const ModelVariable& variable) const;
  Shape shape_here(const Model& model, std::size_t variable, int part) const;
  template <class ElementsOf>
  std::set<std::size_t> bucket_begins(std::span<const std::size_t> order, const ElementsOf& elements_of,
                                      const BucketBytes& bytes_per_bucket) const;
  DistributedVariable beside(std::size_t variable, float* (*of_copy)(const scalar::UpdateGroupView&, int),
                             int slot) const;

  /// One of each part of a divided variable, by the parts' numbers among the replicas; one alone of another.
  std::size_t part_number(std::size_t variable, int replica) const;

  std::vector<MeshIndex> places_here_;  ///< of the replicas
  std::set<std::size_t> elsewhere_;
  bool keeps_slots_, keeps_gradients_;
  std::vector<int> owners_;
  std::vector<Division> divisions_;
  std::vector<DistributedVariable> variables_;
  std::vector<Place> places_;
  std::vector<VariableGroup> groups_;
  std::vector<Buffer> own_copies_;  ///< of the variables outside the groups
  /// By variable: its states, with memory for each copy of the group.
  std::vector<std::vector<std::pair<UpdateState, std::vector<Buffer>>>> states_;
  std::vector<Buffer> evaluation_copies_;  ///< by variable; empty if the variable itself is used
};

}  // namespace mirrortrain
