#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "strategy/reduction/assigned_values.h"
#include "strategy/reduction/choose_reduction.h"
#include "strategy/reduction/collectives.h"
#include "strategy/reduction/gather_ahead.h"
#include "strategy/reduction/gradient_reducer.h"
#include "strategy/reduction/sparse_sums.h"
#include "strategy/reduction/stage_links.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {

/// This process's ranks in the run's communicators.
struct RunCommunicators {
  /// For each memory domain its rank among those with the same parts of the layers, and among those of its row; none
  /// where each is alone. See Topology::memory_groups.
  Communicators along_data, along_model{};
  Communicator* workers = nullptr;  ///< this process's rank among the workers, in host memory; null for one worker
  std::string transport{};          ///< carries the sums, as in process_group.h; may be empty
  StageCommunicators stages{};      ///< of a pipeline whose stages are on several workers
};

/// What a reducer works with; all must outlive it.
struct ReducerPlace {
  Device& device;  ///< of the domain's first lane
  const StepKernels& kernels;
  int lanes = 1;                     ///< of the domain
  const DomainLink* link = nullptr;  ///< as DomainReduction::along_data
  std::int64_t largest_bucket = 0;   ///< in elements
  bool overlaps = false;             ///< whether lanes in host memory continue while buckets are added across domains
};

/// The reducer of a run with this choice, which bench-allreduce measures; null if the update adds.
std::unique_ptr<GradientReducer> make_reducer(const ReductionChoice& choice, const ReducerPlace& place);

/// How a domain's gradients are reduced, and its other exchanges with other domains.
struct DomainReduction {
  std::vector<GradientBucket> buckets;
  Buffer compressed, received;                        ///< of the buckets; before the streams that use them
  Buffer parts;                                       ///< shared by the collectives of parts, of both kinds of steps
  std::unique_ptr<DomainLink> along_data;             ///< to those with the same parts of the layers; null if alone
  std::unique_ptr<DomainLink> along_model;            ///< to those with the other places of its replica; null if alone
  std::unique_ptr<GradientReducer> reducer;           ///< null if the update adds the gradients
  std::unique_ptr<GatherAhead> weights;               ///< of each bucket, into the next step; null if all are gathered
                                                      ///< in the step that updates them, or none is
  bool adds_by_communicator = false;                  ///< where the communicator's ranks add them
  std::vector<std::unique_ptr<StageLinks>> stages;    ///< to other workers' stages, by index on the axis `model`; none
                                                      ///< where this one has all
  std::unique_ptr<SparseSums> sparse;                 ///< null without sparse gradients
  std::unique_ptr<AssignedValues> assigned;           ///< values that layers assign to variables
  std::unique_ptr<Collectives> training, evaluation;  ///< of the programs; null before they are built

  /// The domain's rank along an axis; null if it is alone there.
  Communicator* others(ops::Axis axis) const {
    const DomainLink* const to = (axis == ops::Axis::kData ? along_data : along_model).get();
    return to == nullptr ? nullptr : &to->communicator();
  }
  /// Whether there are other domains.
  bool exchanges() const { return along_data != nullptr || along_model != nullptr; }
  /// Calls body(link) for the domain's links.
  template <class Body>
  void for_each_link(const Body& body) const {
    if (along_data) body(*along_data);
    if (along_model) body(*along_model);
  }
  /// Those of the training programs, or of the evaluation's.
  Collectives& collectives(bool trains) const { return trains ? *training : *evaluation; }
  /// Of the rows that the replicas' programs write, and those gathered from other domains.
  std::size_t rows_bytes() const {
    return assigned->bytes() + (sparse ? sparse->bytes() : 0) +
           (training ? training->bytes() + evaluation->bytes() : 0) + parts.bytes();
  }
  /// Of other domains' gradients, before they are added.
  std::size_t received_bytes() const {
    return (reducer ? reducer->bytes() : 0) + compressed.bytes() + received.bytes();
  }
  /// Of the device's memory, where it is known.
  std::size_t bytes() const {
    std::size_t links = 0;
    for_each_link([&](const DomainLink& to) { links += to.bytes(); });
    return links + received_bytes() + rows_bytes();
  }
  /// Waits for the stream of one of the domain's lanes. Throws Error if an operation failed.
  void synchronize(Stream& stream) const {
    if (!exchanges()) return stream.synchronize();
    // An operation that waits in one group holds up those of the other, whose own time has not begun.
    for (bool is_done = false; !is_done; std::this_thread::yield()) {
      is_done = true;
      for_each_link([&](const DomainLink& to) { is_done = to.communicator().poll(stream) && is_done; });
      for (const auto& links : stages) links->check();
    }
  }
  /// Fails the domain's current and later operations.
  void abort(const std::string& reason) const {
    for_each_link([&](const DomainLink& to) { to.communicator().abort(reason); });
    for (const auto& links : stages) links->abort(reason);
  }
};

/// The reductions of this process's domains, and their ranks.
class RunReduction {
 public:
  explicit RunReduction(RunCommunicators communicators) : communicators_(std::move(communicators)) {}

  /// Creates the reducers of all domains. `devices`: by lane. All but `choice` must outlive this.
  void add_domains(const RunVariables& variables, const ReductionChoice& choice, const StepKernels& kernels,
                   const Model& model, std::span<Device* const> devices);
  /// Any lane's programs; null where there are none.
  struct AnyPrograms {
    const Program *training = nullptr, *evaluation = nullptr;
  };
  /// Creates the collectives of all domains' programs. `most_rows`: the maximum of a place. All but the topology must
  /// outlive this.
  void add_collectives(const RunVariables& variables, const Topology& topology, const Model& model,
                       const StepKernels& kernels, std::span<Device* const> devices, std::int64_t most_rows,
                       const AnyPrograms& programs);
  /// Creates the sums of sparse gradients of all domains, and has the updates read them. `most_rows`: the maximum of a
  /// replica. All but `gradients` must outlive this.
  void add_sparse(const RunVariables& variables, const std::vector<SparseGradient>& gradients,
                  const StepKernels& kernels, std::span<Device* const> devices, std::int64_t most_rows);
  /// Sorts the buckets by when they are full; see order_buckets.
  void order_buckets(const RunVariables& variables, const std::function<VariableUse(std::size_t variable)>& use_of);

  const DomainReduction& of_domain(int domain) const { return domains_[static_cast<std::size_t>(domain)]; }
  /// Whether the run has other domains, in this process or on other workers.
  bool exchanges() const { return domains_[0].exchanges(); }
  const std::string& transport() const { return communicators_.transport; }
  /// Null for one worker.
  Communicator* workers() const { return communicators_.workers; }
  /// The first domain's rank among those with the same parts of the layers; null if it is alone.
  Communicator* first_domain() const {
    return communicators_.along_data.ranks.empty() ? nullptr : communicators_.along_data.ranks.front();
  }

  /// To be called if a lane failed: the others' streams may wait for it, and destroying them would wait too.
  void abort(const char* reason) const;

 private:
  RunCommunicators communicators_;  ///< before members that enqueue operations
  std::vector<DomainReduction> domains_;
};

}  // namespace mirrortrain
