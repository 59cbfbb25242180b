#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strategy/reduction/assigned_values.h"
#include "strategy/reduction/choose_reduction.h"
#include "strategy/reduction/gradient_reducer.h"
#include "strategy/reduction/replica_sums.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {

/// The ranks of a run in this process.
struct RunCommunicators {
  Communicators domains;            ///< one rank for each memory domain
  Communicator* workers = nullptr;  ///< of this process among the workers, in host memory; null for one worker
  std::string transport;            ///< what carries the sums, for the log: "gloo"; may be empty
};

/// Where a reducer works; all must outlive it.
struct ReducerPlace {
  Device& device;  ///< of the domain's first lane
  const StepKernels& kernels;
  int lanes = 1;                     ///< of the domain
  const DomainLink* link = nullptr;  ///< null where there is one domain
  std::int64_t largest_bucket = 0;   ///< in elements
  bool overlaps = false;             ///< whether lanes in host memory continue while buckets are added across domains
};

/// The reducer that a run with this choice has, and bench-allreduce measures; none where the update adds.
std::unique_ptr<GradientReducer> make_reducer(const ReductionChoice& choice, const ReducerPlace& place);

/// How a domain's gradients are reduced, and what else it exchanges with other domains.
struct DomainReduction {
  std::vector<GradientBucket> buckets;
  std::unique_ptr<DomainLink> link;          ///< null where there is one domain
  std::unique_ptr<GradientReducer> reducer;  ///< null where the update adds the gradients
  Buffer compressed;                         ///< buckets
  std::unique_ptr<ReplicaSums> sums;         ///< that training programs wait for; may be none
  std::unique_ptr<AssignedValues> assigned;  ///< what layers assign to variables

  /// Of the rows that the replicas' programs write, and those gathered from other domains.
  std::size_t rows_bytes() const { return sums->bytes() + assigned->bytes(); }
  /// Of the device's memory, where it is known.
  std::size_t bytes() const {
    return (link ? link->bytes() : 0) + (reducer ? reducer->bytes() : 0) + compressed.bytes() + rows_bytes();
  }
  /// Waits for a lane's stream of the domain. Throws Error where something failed.
  void synchronize(Stream& stream) const { link ? link->communicator().synchronize(stream) : stream.synchronize(); }
};

/// The reductions of the domains of this process, and their ranks.
class RunReduction {
 public:
  explicit RunReduction(RunCommunicators communicators) : communicators_(std::move(communicators)) {}

  /// Makes the reducers of all domains. `devices`: by lane. All but `choice` must outlive this.
  void add_domains(const RunVariables& variables, const ReductionChoice& choice, const StepKernels& kernels,
                   const Model& model, std::span<Device* const> devices, const BucketBytes& bytes_per_bucket);
  /// Puts the buckets in the order in which they get full; see order_buckets.
  void order_buckets(const RunVariables& variables,
                     const std::function<std::size_t(std::size_t variable)>& complete_after);

  const DomainReduction& of_domain(int domain) const { return domains_[static_cast<std::size_t>(domain)]; }
  /// Whether the run has other domains, here or on other workers.
  bool exchanges() const { return domains_[0].link != nullptr; }
  const std::string& transport() const { return communicators_.transport; }
  /// Null for one worker.
  Communicator* workers() const { return communicators_.workers; }

  /// Where a lane failed, the others' streams may wait for it, and whoever destroys them would wait too.
  void abort(const char* reason) const;

 private:
  RunCommunicators communicators_;  ///< before what enqueues operations
  std::vector<DomainReduction> domains_;
};

}  // namespace mirrortrain
