#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "strategy/topology.h"
#include "strategy/variables/derived_copies.h"
#include "strategy/variables/lasting_variable.h"
#include "strategy/variables/variable_store.h"
#include "strategy/variables/weight_constraints.h"
#include "strategy/variables/weight_regularization.h"
#include "strategy/variables/weight_spectra.h"
#include "strategy/variables/weight_update.h"

namespace mirrortrain {

/// The variables in one memory, with their updates there: one domain for all CPU lanes of a process, one for each GPU.
struct MemoryDomain {
  /// Replica i of `variables` is place.replicas[i] of the run's `mesh`. Throws Error where the device has not
  /// enough memory. `layouts`: Backend::layouts, by index on the axis `model`. `model`, `device` and `kernels` must
  /// outlive it.
  MemoryDomain(DomainPlace place, const Mesh& mesh, const Model& model, const StoreOptions& store,
               const UpdateOptions& update, Device& device, const StepKernels& kernels,
               std::vector<VariableLayouts> layouts);

  DomainPlace place;
  Mesh mesh;  ///< of the run
  const StepKernels& kernels;
  VariableStore variables;
  DerivedCopies derived;
  WeightUpdate update;
  /// Of the variables whose elements are in another order than the host's, and of their parts, by index on the axis
  /// `model`.
  std::vector<VariableLayouts> layouts;
  WeightConstraints constraints;
  WeightSpectra spectra;
  WeightRegularization regularization;

  std::size_t bytes() const { return variables.bytes() + derived.bytes() + spectra.bytes() + regularization.bytes(); }

  // What lasts of a variable from step to step, between the domain and a whole, canonical variable with the copies of
  // all the run's replicas: here, variables may be divided among places, and laid out as `layouts` says. They return
  // when all is copied.

  /// Copies what is here alone to a variable of zeros and, if `everything`, what other memories have, too: a variable
  /// that every memory has, or the parts of one that a row of memories has.
  void copy_to(Stream& stream, const LastingVariable& whole, bool everything) const;
  void copy_from(Stream& stream, const LastingVariable& whole) const;
  /// Copies the value that evaluation reads, if it is not a replica's own copy.
  void copy_evaluation_from(Stream& stream, std::size_t variable, const std::byte* whole) const;

 private:
  struct Copied;
  const VariableLayout* layout_of(std::size_t variable, int part) const;
  std::pair<std::size_t, std::size_t> own_bytes(std::size_t variable, int replica) const;
  template <class Body>
  void for_each_copy(const LastingVariable& whole, const Body& body) const;
  const std::byte* part_of(const std::byte* whole, std::size_t variable, int part,
                           std::deque<std::vector<std::byte>>& parts) const;

  const Model& model_;
};

}  // namespace mirrortrain
