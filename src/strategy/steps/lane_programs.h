#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "kernels/backend.h"
#include "model/model.h"
#include "runtime/program.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/stage_model.h"

namespace mirrortrain {

enum class StepKind : std::uint8_t { kTrain, kEvaluate };

/// The row counts of a lane's replicas.
struct RowCounts {
  std::set<std::int64_t> train, evaluate;
  bool keeps_outputs = false;  ///< of evaluation
};

/// The size of a replica's part of a batch in a program.
struct ProgramSize {
  std::int64_t rows = 0;
  std::int64_t length = 0;  ///< time steps of sequences; 0: all
  friend auto operator<=>(const ProgramSize&, const ProgramSize&) = default;
};

/// The programs of those of a lane's replicas that have the same part of the model, one for each size, and their
/// interface to the rest of a step. Programs of other parts have the same kernels.
class LanePrograms {
 public:
  using BySize = std::map<ProgramSize, Program>;

  /// `place`: whose part of the model it is. `deferred`: the gradients that the training programs leave to the update.
  /// `stages`: where others have the model's other stages; else null. All must outlive it.
  LanePrograms(const Model& model, int place, const DeferredGradients& deferred, const Backend& backend,
               const StageModel* stages)
      : model_(model), place_(place), deferred_(deferred), backend_(backend), stages_(stages) {}

  /// Call it on the lane's thread: kernels use its number of threads.
  void build(const RowCounts& rows, Device& device);

  const BySize& of(StepKind kind) const { return kind == StepKind::kTrain ? train_ : evaluate_; }
  /// Training's assignments in a replica without examples; may be none.
  const std::optional<Program>& without_rows() const { return without_rows_; }
  const ModelGraph& graph_of(StepKind kind, std::int64_t length = 0) const;
  /// The programs' type of an input of the model.
  DType input_dtype(StepKind kind, std::size_t input) const {
    return input_dtypes_[static_cast<std::size_t>(kind)][input];
  }

  /// The maximum number of rows of a replica, in any step.
  std::int64_t most_rows() const;
  /// The largest program's.
  std::size_t arena_bytes() const;
  /// Number of kernels in a replica's training step.
  std::size_t kernels() const { return train_.empty() ? 0 : train_.begin()->second.steps(); }

  /// The evaluation's value that holds the elements of an output of the model.
  ValueId output(std::size_t number) const;
  /// The first output that is held by the same value.
  std::size_t first_of_output(std::size_t number) const;
  bool keeps_outputs() const { return keeps_outputs_; }
  /// Whether an op computes the output; otherwise it is an input of the model.
  bool computes_output(std::size_t number) const {
    return graph_of(StepKind::kEvaluate).graph.value(output(number)).source == Graph::Source::kNode;
  }
  /// Whether these programs give a value of the graph; else those of another worker's stages do.
  bool has(StepKind kind, ValueId value) const;
  /// What the programs exchange with other workers' stages; null where they have all stages.
  const StageGraph* exchanged(StepKind kind) const { return exchanged(kind, place_); }
  /// The same of another place of the model.
  const StageGraph* exchanged(StepKind kind, int place) const {
    if (stages_ == nullptr) return nullptr;
    const PlaceStages& of = stages_->places[static_cast<std::size_t>(place)];
    return kind == StepKind::kTrain ? &of.training : &of.evaluation;
  }
  /// Which of the programs' steps each stage computes, given the layers' stages; nothing if there are no programs.
  std::optional<StageRanges> steps_of_stages(StepKind kind, const std::map<std::string, int>& layers, int count) const;
  /// The stage that each collective is of, and whether in its backward pass; `steps`: as steps_of_stages gives them.
  std::vector<std::pair<int, bool>> stages_of_collectives(StepKind kind, const StageRanges& steps, int count) const;

  /// The number of kernels of a training program after which a variable's gradient is complete; nothing if no replica
  /// of the lane has examples, or if the variable has no gradient.
  std::optional<std::size_t> gradient_complete_after(std::size_t variable) const;
  /// The number of kernels of a training program before the first that reads a variable; nothing if none does, or no
  /// replica of the lane has examples.
  std::optional<std::size_t> first_read(std::size_t variable) const;
  /// Program::segment_ends() of the programs of a kind; empty if there are none.
  std::vector<std::size_t> segment_ends(StepKind kind) const;
  /// Whether a replica without examples also assigns this value of ModelGraph::assignments.
  bool is_assigned_without_rows(std::size_t assignment) const;

 private:
  void build_for(const std::set<std::int64_t>& rows, StepKind kind, std::int64_t length, const Graph& merged,
                 int threads);
  std::vector<ValueId> outputs_of(StepKind kind) const;
  std::vector<ValueId> outputs_without_rows() const;
  std::vector<std::size_t> origins_of_steps(StepKind kind, const Graph& merged) const;

  const Model& model_;
  const int place_;
  const DeferredGradients& deferred_;
  const Backend& backend_;
  const StageModel* stages_;
  std::shared_ptr<const KernelRegistry> registry_;
  BySize train_, evaluate_;
  std::optional<Program> without_rows_;
  bool keeps_outputs_ = false;
  std::array<std::vector<DType>, 2> input_dtypes_{};        ///< by StepKind
  std::array<std::vector<std::size_t>, 2> step_origins_{};  ///< by StepKind, with `stages_`: nodes of the whole graph
};

}  // namespace mirrortrain
