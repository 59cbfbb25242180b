#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strategy/reduction/assigned_values.h"
#include "strategy/reduction/choose_reduction.h"
#include "strategy/reduction/collectives.h"
#include "strategy/reduction/gradient_reducer.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {

/// This process's ranks in the run's communicators.
struct RunCommunicators {
  Communicators domains;            ///< one rank for each memory domain
  Communicator* workers = nullptr;  ///< this process's rank among the workers, in host memory; null for one worker
  std::string transport;            ///< carries the sums, for the log: "gloo"; may be empty
};

/// What a reducer works with; all must outlive it.
struct ReducerPlace {
  Device& device;  ///< of the domain's first lane
  const StepKernels& kernels;
  int lanes = 1;                     ///< of the domain
  const DomainLink* link = nullptr;  ///< null if there is one domain
  std::int64_t largest_bucket = 0;   ///< in elements
  bool overlaps = false;             ///< whether lanes in host memory continue while buckets are added across domains
};

/// The reducer of a run with this choice, which bench-allreduce measures; null if the update adds.
std::unique_ptr<GradientReducer> make_reducer(const ReductionChoice& choice, const ReducerPlace& place);

/// How a domain's gradients are reduced, and its other exchanges with other domains.
struct DomainReduction {
  std::vector<GradientBucket> buckets;
  std::unique_ptr<DomainLink> link;                   ///< null if there is one domain
  std::unique_ptr<GradientReducer> reducer;           ///< null if the update adds the gradients
  Buffer compressed, received;                        ///< of the buckets
  std::unique_ptr<AssignedValues> assigned;           ///< values that layers assign to variables
  std::unique_ptr<Collectives> training, evaluation;  ///< of the programs; null before they are built

  /// The domain's rank; null if there is one domain.
  Communicator* others() const { return link ? &link->communicator() : nullptr; }
  /// Those of the training programs, or of the evaluation's.
  Collectives& collectives(bool trains) const { return trains ? *training : *evaluation; }
  /// Of the rows that the replicas' programs write, and those gathered from other domains.
  std::size_t rows_bytes() const {
    return assigned->bytes() + (training ? training->bytes() + evaluation->bytes() : 0);
  }
  /// Of the device's memory, where it is known.
  std::size_t bytes() const {
    return (link ? link->bytes() : 0) + (reducer ? reducer->bytes() : 0) + compressed.bytes() + received.bytes() +
           rows_bytes();
  }
  /// Waits for the stream of one of the domain's lanes. Throws Error if an operation failed.
  void synchronize(Stream& stream) const { link ? link->communicator().synchronize(stream) : stream.synchronize(); }
};

/// The reductions of this process's domains, and their ranks.
class RunReduction {
 public:
  explicit RunReduction(RunCommunicators communicators) : communicators_(std::move(communicators)) {}

  /// Creates the reducers of all domains. `devices`: by lane. All but `choice` must outlive this.
  void add_domains(const RunVariables& variables, const ReductionChoice& choice, const StepKernels& kernels,
                   const Model& model, std::span<Device* const> devices);
  /// Creates the collectives of all domains' programs. `most_rows`: the maximum of a place. All but the topology must
  /// outlive this.
  void add_collectives(const RunVariables& variables, const Topology& topology, const Model& model,
                       const StepKernels& kernels, std::span<Device* const> devices, std::int64_t most_rows);
  /// Sorts the buckets by when they are full; see order_buckets.
  void order_buckets(const RunVariables& variables,
                     const std::function<std::size_t(std::size_t variable)>& complete_after);

  const DomainReduction& of_domain(int domain) const { return domains_[static_cast<std::size_t>(domain)]; }
  /// Whether the run has other domains, in this process or on other workers.
  bool exchanges() const { return domains_[0].link != nullptr; }
  const std::string& transport() const { return communicators_.transport; }
  /// Null for one worker.
  Communicator* workers() const { return communicators_.workers; }

  /// To be called if a lane failed: the others' streams may wait for it, and destroying them would wait too.
  void abort(const char* reason) const;

 private:
  RunCommunicators communicators_;  ///< before members that enqueue operations
  std::vector<DomainReduction> domains_;
};

}  // namespace mirrortrain
