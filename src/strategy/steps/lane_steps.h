#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strategy/reduction/run_reduction.h"
#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"
#include "strategy/steps/lane_team.h"
#include "strategy/steps/step_plan.h"
#include "strategy/variables/directions.h"

namespace mirrortrain {

/// How training steps run; the same for all lanes.
struct StepOptions {
  bool captures = true;  ///< capture steps if the devices can
  /// Whether a step with a non-finite loss or gradient, in any memory, changes no variable. The host then waits in each
  /// step.
  bool skips_non_finite = false;
};

/// One lane's steps: a list of actions for training and one for evaluation, built once (lane_plans.cpp); the actions
/// are in lane_steps.cpp, step_inputs.cpp, stage_work.cpp, finite_check.cpp and assigned_writes.cpp. Lanes of one
/// domain meet between the parts of a step; lanes with a domain of their own enqueue theirs and wait for each other on
/// their streams when they exchange data.
class LaneSteps {
 public:
  /// The lane must be bound and the buckets ordered. `replicas`: of this process, in order. `stages`: of a pipeline, by
  /// layer. All others must outlive it.
  LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction, const Topology& topology,
            std::span<const LaneReplica> replicas, LaneTeam& team, StepOptions options,
            const std::map<std::string, int>& stages);
  LaneSteps(const LaneSteps&) = delete;
  LaneSteps& operator=(const LaneSteps&) = delete;

  /// Call it before the first step, on the lane's thread, if the update takes directions.
  void prepare_directions(const Backend& backend);

  /// Of these, if it takes any.
  std::size_t direction_bytes() const { return directions_ ? directions_->bytes() : 0; }

  /// Runs the list for training.
  void train(const Step& step);
  StepPlan& training() { return training_; }
  const StepPlan& training() const { return training_; }
  StepPlan& evaluation() { return evaluation_; }

  /// Whether the last training step changed no variable because of non-finite numbers; the same on all lanes.
  bool skipped() const { return skips_; }

  /// Adds the time of the last step that the lane waited for its domain's others after its list.
  void add_wait_at_end(double seconds) { waited_at_end_ += own_.lanes > 1 ? seconds : 0; }
  /// Seconds of the last training step that the lane waited for other workers and for what they sent.
  double waited_for_workers() const { return waited_for_workers_; }
  /// The share of the training steps' time that the lane waited for others, since the last call.
  double take_waiting_share();
  /// Starts recording the time of every training action, with nothing else on the device meanwhile.
  void profile();

  /// Writes the step's inputs for the device, and looks up its programs: for steps whose actions are enqueued later.
  void fill_inputs(const Step& step) const;

  /// Recomputes all derived copies, after every lane of the domain has called it.
  void renew_derived_copies();

 private:
  /// Per lane: small enough that no lane waits long for the last, large enough to be efficient.
  static constexpr int kUpdatePieces = 8;
  static constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();  ///< end of a program's kernels

  Stream& stream() const { return lane_.stream(); }
  const Model& model() const { return lane_.model(); }
  bool has_model() const { return !model().layers.empty(); }
  /// Whether the run has other domains.
  bool exchanges() const { return reduction_.exchanges(); }
  /// The replica's part of the step's global batch.
  RowRange rows_of(const Step& step, const Replica& replica) const {
    return rows_of_place(step.key.examples, replica.index, topology_.mesh);
  }
  /// In the first steps of a kind, kernels are loaded and graphs captured, for which CUDA may wait for all work on a
  /// GPU and block every thread meanwhile. An operation that waits for another lane must not be part of that work:
  /// therefore all lanes enqueue it before any continues.
  void wait_while_warming_up(const Step& step) const {
    if (step.is_warming_up) team_.arrive_and_wait();
  }

  Collectives& collectives(StepKind kind) const { return reduction_.collectives(kind == StepKind::kTrain); }

  /// Seconds so far, of training and evaluation.
  double waited_for_workers_so_far() const;

  // The lists of actions.
  StepPlan training_plan();
  StepPlan evaluation_plan();
  void add_inputs(StepPlan& plan);
  void add_normalization(StepPlan& plan);
  void add_program(StepPlan& plan, Replica& replica, StepKind kind, std::size_t first, std::size_t last);
  void add_gathering(StepPlan& plan, Replica& replica);
  void add_programs(StepPlan& plan, StepKind kind);
  void add_pipeline(StepPlan& plan, StepKind kind);
  void add_collective(StepPlan& plan, StepKind kind, std::size_t which);
  void add_update(StepPlan& plan);
  /// Buckets, by number, whose weights must be here after so many kernels.
  struct WeightWait {
    std::size_t after = 0;
    std::vector<std::size_t> buckets;
  };
  std::vector<WeightWait> weight_waits() const;
  std::size_t first_exchange() const;
  void add_unless_skipped(StepPlan& plan, const char* name, StepPlan::Run run, bool fixed = true);
  void add_barrier(StepPlan& plan);
  void add_sparse_gathering(StepPlan& plan);
  bool shares_programs() const;
  void add_shared_programs(StepPlan& plan);
  bool shares_update() const;
  void add_shared_update(StepPlan& plan);

  // The actions. Inputs:
  std::int64_t device_rows(const Step& step) const;
  data::BatchPart part_of(const Step& step, const Replica& replica) const;
  /// Sends the step's slot to the device, filling it first if it is not filled.
  void send_inputs(const Step& step) const;
  /// If the lane's device gathers the examples: those of all replicas one after the other, from the rows sent.
  void gather_on_device(const Step& step) const;
  /// If the host gathers them: those of one replica.
  void gather_rows(const Step& step, const Replica& replica) const;

  // Programs and sums:
  std::size_t kernel_pieces() const;
  std::size_t pieces_of_replica() const;
  void run_program_piece(const Step& step, std::size_t piece);
  void choose_cores();
  void run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void zero_sums(const Replica& replica) const;
  void run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void run_collective(const Step& step, StepKind kind, std::size_t which);

  // Of a pipeline (stage_work.cpp):
  void divide_among_stages(const std::map<std::string, int>& stages);
  void run_stage(const Step& step, StepKind kind, const MicrobatchWork& work);
  void run_programs_of_stage(const Step& step, StepKind kind, const MicrobatchWork& work,
                             std::span<Replica* const> places);
  void add_microbatch(const Replica& replica, const MicrobatchWork& work);
  /// `before`: with the worker that has the stages before this one's, else with the one after it.
  void receive(const Step& step, StepKind kind, Replica& replica, bool before);
  void send(const Step& step, StepKind kind, Replica& replica, bool before);
  Elements exchanged_elements(const Step& step, StepKind kind, Replica& replica, ValueId value, bool is_up) const;
  /// Waits until other workers have received what the lane's stages have sent.
  void finish_sends();
  /// Before the first steps of a kind on a GPU whose stages exchange with others.
  void load_kernels(const Step& step, StepKind kind);
  /// Those of the domain's first replica: a lane of later stages alone has programs that are never built.
  const LanePrograms& built_programs() const { return domain_replicas_.front().lane->programs(); }

  void reduce(const Step& step, const GradientBucket& bucket);
  bool has_sparse() const { return reduction_.sparse != nullptr; }
  void sum_lookups(const Step& step, const Replica& replica);
  void add_squares_of_domains(const Step& step);
  void gather_weights(const Step& step);
  void gather_bucket(const GradientBucket& bucket, Stream& on) const;
  /// The same on the streams that let the next step begin meanwhile.
  void begin_gathering_weights(const Step& step);
  /// Waits for buckets, by number, and refreshes the derived copies of their weights.
  void finish_gathering_weights(std::span<const std::size_t> buckets);
  /// The same on the device, for the times of the actions so far.
  void wait_for_profile();
  void zero_others(const GradientBucket& bucket) const;

  // After all gradients are complete:
  /// Finds whether the step, or one that is accumulated with it, has non-finite numbers in any domain. Waits for the
  /// devices.
  void find_non_finite(const Step& step);
  void sum_losses_and_squares();
  /// To each replica's own copy, or the replicas' values aggregated.
  void write_assigned(const Step& step);
  bool assigns(const Step& step, const Replica& replica, std::size_t assignment) const;
  void write_shared(const Step& step, const DistributedVariable& variable, std::size_t assignment);
  /// `updated`: by the update's own kernel.
  void refresh_derived_copies(bool updated) const;

  Lane& lane_;
  MemoryDomain& domain_;
  const DomainReduction& reduction_;
  const Topology& topology_;
  LaneTeam& team_;
  const StepOptions options_;
  DomainLane own_;
  std::vector<LaneReplica> domain_replicas_;  ///< in order
  bool is_first_ = false;                     ///< whether it has the first replica of this process
  std::vector<float> scales_;                 ///< by replica of the domain, of the bucket being reduced
  StepPlan training_, evaluation_;
  std::optional<Directions> directions_;

  // In a pipeline:
  StageRange stages_here_;                                             ///< of this process
  std::map<std::pair<int, int>, std::vector<int>> stage_places_;       ///< by replica and stage: the lane's, on `model`
  std::map<std::pair<int, int>, std::vector<Replica*>> microbatches_;  ///< by replica and microbatch: its places
  std::array<std::optional<StageRanges>, 2> stage_steps_;              ///< by StepKind: of the programs
  std::array<std::vector<std::size_t>, 2> segment_ends_;               ///< by StepKind: see LanePrograms
  std::array<std::vector<std::pair<int, bool>>, 2> collective_stages_;  ///< by StepKind: see LanePrograms
  std::vector<std::vector<std::size_t>> stage_variables_;               ///< whose gradients a stage completes
  std::vector<Replica*> stage_replicas_;                                ///< that compute a stage now

  std::vector<WeightWait> waits_;  ///< in order; see DomainReduction::weights
  bool awaits_weights_ = false;    ///< of the last step
  bool skips_ = false;             ///< the last step checked changes no variable
  bool on_own_cores_ = true;
  double waited_for_stages_ = 0;   ///< seconds, for values of other workers' stages
  double waited_for_workers_ = 0;  ///< seconds, in the last step
  double waited_in_training_ = 0;  ///< seconds, for the domain's other lanes and for other workers
  double waited_at_end_ = 0;       ///< the same, after the list
};

}  // namespace mirrortrain
