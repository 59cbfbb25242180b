#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.h"
#include "kernels/backend.h"
#include "model/model.h"
#include "runtime/program.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/reduction/run_reduction.h"
#include "strategy/steps/device_examples.h"
#include "strategy/steps/lane_programs.h"
#include "strategy/steps/step_buffers.h"
#include "strategy/topology.h"
#include "strategy/variables/memory_domain.h"

namespace mirrortrain {

/// A program bound to a replica, with its inputs.
struct ReplicaProgram {
  data::BatchBuffers batch;
  BoundProgram program;
};

/// A replica's buffers for an output of the model, each sized for the largest part of a batch; empty if unused.
struct OutputBuffers {
  Buffer labels, weights, present;
  Buffer values, mask;  ///< the output itself and its mask, if they are kept
};

/// A replica's own memory and its programs, bound to it; if several places of a mesh share its examples, those of one.
struct Replica {
  int index = 0;                       ///< its place in the run
  int model = 0;                       ///< that place's index on the axis `model`
  int in_pipeline = 0;                 ///< of a microbatch: the number of the replica that it is of
  int in_lane = 0;                     ///< among the lane's replicas
  int in_domain = 0;                   ///< among those that compute on the same memory
  std::vector<Buffer> inputs;          ///< of the model, sized for the largest part of a batch
  std::vector<OutputBuffers> outputs;  ///< of the model
  std::map<ValueId, Buffer> operands;  ///< of gradients computed by the update: values of the training graph
  std::map<ProgramSize, ReplicaProgram> train, evaluate;
  std::optional<BoundProgram> without_rows;  ///< values that a training step assigns without examples
  /// By StepKind: where the values are that it exchanges with other workers' stages.
  std::array<std::map<ValueId, std::byte*>, 2> exchanged;

  std::map<ProgramSize, ReplicaProgram>& programs(StepKind kind) { return kind == StepKind::kTrain ? train : evaluate; }

  /// The current step's program, looked up once per step; null if the step has no rows here.
  ReplicaProgram* program = nullptr;
  void choose(StepKind kind, const ProgramSize& size) { program = size.rows == 0 ? nullptr : &programs(kind).at(size); }
};

/// A replica and the lane that runs it.
struct LaneReplica {
  class Lane* lane = nullptr;
  Replica* replica = nullptr;
};

/// A device with its stream, its replicas and the memory for their programs.
class Lane {
 public:
  /// `deferred`: the gradients that the training programs leave to the update. `stages`: as in LanePrograms. All but
  /// the places must outlive it.
  Lane(const LanePlace& place, const DomainPlace& domain, const Mesh& mesh, const Model& model,
       const DeferredGradients& deferred, const Backend& backend, data::Cache cache, const StageModel* stages);

  const Model& model() const { return model_; }
  Device& device() const { return *device_; }
  Stream& stream() const { return *stream_; }
  std::vector<Replica>& replicas() { return replicas_; }
  const std::vector<Replica>& replicas() const { return replicas_; }
  /// The replicas' numbers within their memory domain.
  std::span<const int> replicas_in_domain() const { return in_domain_; }

  /// Call it on the lane's thread: kernels use its number of threads.
  void build_programs(const RowCounts& rows);
  /// Of the lane's first replica: the others' have the same kernels.
  const LanePrograms& programs() const { return programs_.begin()->second; }
  /// Number of kernels of a training step, for all replicas.
  std::size_t kernels() const { return replicas_.size() * programs().kernels(); }

  /// Prepares the data sets if the device gathers examples itself; call it after building.
  void place_examples(const std::vector<const data::Feeder*>& examples);
  void replace_examples(const data::Feeder& before, const data::Feeder& now);

  /// Bytes that `bind` allocates for activations and inputs.
  std::size_t step_bytes() const;

  /// Allocates the programs' memory, for `steps` steps in flight, of which `together` may be sent at once.
  void bind(MemoryDomain& domain, const DomainReduction& reduction, std::size_t steps, std::size_t together);

  /// Call it after `bind`.
  const StepBuffers& buffers() const { return *buffers_; }
  StepBuffers& buffers() { return *buffers_; }
  /// Null if the host fills the inputs.
  DeviceExamples* examples() const { return examples_.get(); }
  /// The squared norms for clipping, as in DomainLane.
  double* norms() const { return norms_.as<double>(); }

  /// Where a replica's programs write an operand of a deferred gradient: its input buffer or a separate one.
  const std::byte* operand(const Replica& replica, ValueId value) const;

  /// Where an evaluation writes an output of the model: float32 [rows, ...]. Only for lanes that keep them.
  const std::byte* output(const Replica& replica, std::size_t number) const;
  /// The same for the output's mask, if it has one.
  const std::byte* mask(const Replica& replica, std::size_t number) const {
    return replica.outputs[number].mask.data();
  }

  /// Bytes of the arena and of the replicas' own buffers.
  std::size_t bytes() const;

 private:
  void allocate(Replica& replica);
  const LanePrograms& programs_of(const Replica& replica) const {
    return programs_.at({replica.model, replica.in_pipeline});
  }
  /// The largest of any program.
  std::size_t arena_bytes() const;
  /// The buffer of the model's input that is this value of a graph.
  const Buffer& input_buffer(const Replica& replica, const ModelGraph& graph, ValueId value) const;
  /// Replicas that wait for each other inside their programs cannot share an arena, nor can the microbatches that the
  /// stages of a pipeline compute at the same time.
  std::size_t arenas() const {
    if (mesh_.stages > 1) return replicas_.size() / static_cast<std::size_t>(mesh_.microbatches) * in_flight();
    const auto waits = [](const ModelGraph& model) { return !ops::collectives_of(model.graph).empty(); };
    return waits(model_.training) || waits(model_.evaluation) ? replicas_.size() : 1;
  }
  std::size_t in_flight() const { return static_cast<std::size_t>(mesh_.in_flight()); }
  /// The number of its memory for activations: microbatches take turns.
  std::size_t arena_of(const Replica& replica) const;
  /// Memory of a value that is exchanged with other workers' stages.
  std::byte* place_of(const Replica& replica, StepKind kind, ValueId value) const;
  template <class Body>
  static void for_each_exchanged(const LanePrograms& of_place, const Body& body);
  std::size_t exchanged_bytes() const;
  TensorView canonical(const Replica& replica, StepKind kind, const VariableStore& variables,
                       std::size_t variable) const;
  Bindings bindings_of(const Replica& replica, StepKind kind, const VariableStore& variables,
                       const DomainReduction& reduction) const;
  /// Whether steps change a variable.
  bool changes(std::size_t variable) const;
  std::vector<std::byte*> derived_copies(const Replica& replica, StepKind kind, const Program& program,
                                         MemoryDomain& domain) const;
  void bind_programs(Replica& replica, StepKind kind, MemoryDomain& domain, const DomainReduction& reduction);

  const Model& model_;
  const DeferredGradients& deferred_;
  const Mesh mesh_;  ///< of the run
  std::unique_ptr<Device> device_;
  std::map<std::pair<int, int>, LanePrograms> programs_;  ///< by Replica::model and in_pipeline
  std::vector<Replica> replicas_;
  std::vector<int> in_domain_;
  Buffer arena_, norms_, blocks_done_;
  std::vector<std::array<std::map<ValueId, Buffer>, 2>> exchanged_;  ///< by arena and StepKind
  std::optional<StepBuffers> buffers_;
  std::unique_ptr<DeviceExamples> examples_;
  std::unique_ptr<Stream> stream_;  ///< last, so that its work ends first
};

}  // namespace mirrortrain
