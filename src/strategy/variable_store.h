#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/device.h"
#include "kernels/cpu/update.h"
#include "model/model.h"
#include "strategy/distributed_variable.h"

namespace mirrortrain {

/// The variables of all replicas on one memory. Trainable variables, their gradients and their optimizer slots form a
/// flat group: one buffer each, every variable at the same offset, so that one pass updates all. A variable whose
/// copies are equal by definition is stored once.
class VariableStore {
 public:
  /// `slots`: how many per weight the update rule keeps. Values are zero until somebody assigns them.
  VariableStore(const Model& model, int replicas, int slots, Device& device);

  /// In the order of Model::variables.
  const std::vector<DistributedVariable>& variables() const { return variables_; }

  bool trainable(std::size_t variable) const { return trainable_[variable]; }
  /// Where replica `replica` writes the variable's gradient; null for a frozen one.
  float* gradient(std::size_t variable, int replica) const;
  /// An optimizer slot of a trainable variable, shaped like it.
  std::span<float> slot(std::size_t variable, int slot) const;
  int slots() const { return static_cast<int>(slots_.size()); }

  /// What evaluation reads: the variable itself, or where copies can differ what reading it outside the replicas gave
  /// when `fill_evaluation_copies` was last called.
  float* evaluation_copy(std::size_t variable) const;
  void fill_evaluation_copies();

  /// The group for the update kernel, and its number of elements (padding between variables included, always zero).
  const cpu::UpdateGroupView& group() const { return group_; }
  std::int64_t group_elements() const { return group_elements_; }
  const float* group_gradient(int replica) const { return gradients_[static_cast<std::size_t>(replica)].as<float>(); }
  /// The sum of the regularization terms, of the weights before the last update (or of update::regularization_sums).
  double regularization() const;

  std::size_t bytes() const;

 private:
  std::vector<DistributedVariable> variables_;
  std::vector<bool> trainable_;
  std::vector<std::int64_t> offsets_;  ///< in the group, of trainable variables
  std::int64_t group_elements_ = 0;
  Buffer master_, regularization_;
  std::vector<Buffer> gradients_;  ///< one per replica
  std::vector<Buffer> slots_;
  std::vector<Buffer> own_copies_;         ///< of the variables outside the group
  std::vector<Buffer> evaluation_copies_;  ///< by variable; empty where the variable itself serves
  std::vector<cpu::RegularizedSegment> regularized_;
  cpu::UpdateGroupView group_;
};

}  // namespace mirrortrain
