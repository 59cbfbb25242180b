#pragma once

#include "strategy/variables/derived_copies.h"
#include "strategy/variables/variable_store.h"
#include "strategy/variables/weight_update.h"

namespace mirrortrain {

/// The variables on one memory, and what keeps them up to date there: one mirror for all CPU replicas, one for each
/// GPU.
struct Mirror {
  /// `replicas` compute on it, by their numbers in the run: replica i of `variables` is replicas[i]. Throws Error where
  /// the device has not enough memory. `filters`: the variables that it keeps out first (see filters.h).
  Mirror(UpdateReplicas replicas, const Model& model, const StoreOptions& store, const UpdateOptions& update,
         Device& device, const StepKernels& kernels, std::vector<std::size_t> filters);

  UpdateReplicas replicas;
  VariableStore variables;
  DerivedCopies derived;
  WeightUpdate update;
  std::vector<std::size_t> filters;

  std::size_t bytes() const { return variables.bytes() + derived.bytes(); }

  // What lasts from step to step, between the host's variables of all replicas and a mirror with memory of its own.
  // Both have the same layout, but for the order within filters. They return when all is copied.

  /// Brings what the mirror's replicas have for themselves, and where `shared`, what all replicas share.
  void copy_to_host(Stream& stream, const VariableStore& host, bool shared) const;
  void copy_from_host(Stream& stream, const VariableStore& host) const;
  /// What evaluation reads where that is no replica's own copy.
  void copy_evaluation_from_host(Stream& stream, const VariableStore& host) const;
};

}  // namespace mirrortrain
