#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "kernels/backend.h"
#include "strategy/topology.h"
#include "strategy/variables/evaluation_copies.h"
#include "strategy/variables/memory_domain.h"

namespace mirrortrain {

/// The variables of a run in the memory domains of this process, and the host's way to them between steps: one variable
/// after the other, so that no memory has to hold what is divided among several.
class RunVariables {
 public:
  /// `devices`: by lane. `workers`: one rank for each worker; null for one worker. All but the topology must outlive
  /// it. Throws Error if a device has too little memory.
  RunVariables(const Model& model, StoreOptions store, const UpdateOptions& update, const Topology& topology,
               std::span<Device* const> devices, const Backend& backend, Communicator* workers);

  MemoryDomain& of_lane(int lane) const { return *domains_[static_cast<std::size_t>(domain_of_lane(lane))]; }
  int domain_of_lane(int lane) const { return domain_of_lane_[static_cast<std::size_t>(lane)]; }
  const std::vector<std::unique_ptr<MemoryDomain>>& domains() const { return domains_; }

  /// Call before the lanes begin a step; see WeightUpdate::begin.
  void begin_update(const StepSpec& step, StepParams& params);

  // Called by every worker alike. `streams`: the lanes', with no work in flight.

  /// Strategy::read_variables, without waiting for the devices.
  void read(Lasting what, std::span<Stream* const> streams, const VariableVisit& visit);
  /// Strategy::read_in_pieces, likewise.
  void read_in_pieces(Lasting what, std::span<Stream* const> streams, const PieceVisit& visit);
  /// Strategy::write_variables or, if it `reads`, change_variables, likewise; copies derived from the variables are
  /// outdated then.
  void write(Lasting what, std::span<Stream* const> streams, const VariableVisit& visit, bool reads);
  /// Updates the values that evaluation reads where they are not a replica's own copy. Returns the sum of the
  /// regularization terms, of replica 0's values if copies differ.
  double begin_evaluation(std::span<Stream* const> streams);

  /// The most memory for what passes between the domains and files between steps: while it is read in pieces, and while
  /// values are written, which is variable by variable.
  std::size_t window_bytes() const;

  std::size_t bytes() const;
  /// Of the memory that a lane works on.
  std::size_t bytes_of_lane(int lane) const;

 private:
  const std::vector<LastingVariable>& all_in_place(Lasting what);
  InPlace in_place(std::size_t variable) const;
  bool can_be_cut(std::size_t variable) const;
  LastingVariable open(VariableWindow& window, std::size_t variable, Lasting what) const;
  void read_one(const LastingVariable& whole, std::span<Stream* const> streams, bool here_alone = false) const;
  std::vector<Stream*> streams_of_domains(std::span<Stream* const> streams) const;
  bool copies_everything(const MemoryDomain& domain, std::size_t variable) const;
  bool is_whole_here() const;
  VariableWindow window() const;
  Stream& stream_of(const MemoryDomain& domain, std::span<Stream* const> streams) const {
    return *streams[static_cast<std::size_t>(domain.place.lanes.front())];
  }

  const Model& model_;
  Mesh mesh_;
  int memories_;    ///< of the run
  int in_row_;      ///< memories that a replica's places or stages are in
  bool in_stages_;  ///< whether the memories of a row have the variables of different stages
  std::vector<int> domain_of_lane_;
  std::vector<std::unique_ptr<MemoryDomain>> domains_;
  bool is_in_place_;  ///< whether the one domain has all replicas' whole variables in host memory
  std::map<Lasting, std::vector<LastingVariable>> all_in_place_;  ///< those visited so far
  std::vector<double> regularization_sums_;
  std::vector<double> regularization_terms_;           ///< of begin_evaluation, by variable
  std::optional<EvaluationCopies> evaluation_copies_;  ///< absent where values pass the host or are in its memory
  Communicator* workers_;
};

}  // namespace mirrortrain
