#pragma once

#include "strategy/topology.h"
#include "strategy/variables/derived_copies.h"
#include "strategy/variables/variable_store.h"
#include "strategy/variables/weight_constraints.h"
#include "strategy/variables/weight_update.h"

namespace mirrortrain {

/// The variables in one memory, with their updates there: one domain for all CPU lanes of a process, one for each GPU.
struct MemoryDomain {
  /// Replica i of `variables` is place.replicas[i] of the run's `all_replicas`. Throws Error if the device has too
  /// little memory. `ohwi`: the variables stored with output channels first (see find_filters).
  MemoryDomain(DomainPlace place, int all_replicas, const Model& model, const StoreOptions& store,
               const UpdateOptions& update, Device& device, const StepKernels& kernels, Filters ohwi);

  DomainPlace place;
  VariableStore variables;
  DerivedCopies derived;
  WeightUpdate update;
  Filters ohwi;
  WeightConstraints constraints;

  std::size_t bytes() const { return variables.bytes() + derived.bytes(); }

  // Copies state that lasts between steps, between the domain and the host's variables of all replicas. Both have the
  // same layout except for the order within filters. These functions return when the copy is complete.

  /// Copies the replicas' own state and, if `shared`, the state that all replicas share.
  void copy_to_host(Stream& stream, const VariableStore& host, bool shared) const;
  void copy_from_host(Stream& stream, const VariableStore& host) const;
  /// Copies the values that evaluation reads if they are not a replica's own copy.
  void copy_evaluation_from_host(Stream& stream, const VariableStore& host) const;
};

/// Finds the model's filters. Throws Error if anything but a convolution reads one, or if a convolution's kernel is not
/// a variable: their order could not be chosen then.
Filters find_filters(const Model& model);

}  // namespace mirrortrain
