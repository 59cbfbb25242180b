#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "device/device.h"
#include "model/model.h"
#include "runtime/program.h"
#include "strategy/derived_copies.h"
#include "strategy/placement.h"
#include "strategy/product_gradients.h"
#include "strategy/variable_store.h"

namespace mirrortrain {

enum class StepKind : std::uint8_t { kTrain, kEvaluate };

/// A program bound to a replica, and its inputs.
struct ReplicaProgram {
  TensorView features, labels;
  BoundProgram program;
};

/// A replica's own memory and its programs, bound to it.
struct Replica {
  int index = 0;
  Buffer features, labels;                  ///< room for the largest part of a batch
  Buffer sums;                              ///< float64: the loss, then the metrics
  Buffer assigned;                          ///< float32: new values of assigned variables, one after the other
  std::map<ValueId, Buffer> operands;       ///< of gradients that the update makes: values of the training graph
  std::vector<std::byte*> assigned_values;  ///< where each is, in the order of ModelGraph::assignments
  std::unique_ptr<StepScalars> scalars = std::make_unique<StepScalars>();
  std::map<std::int64_t, ReplicaProgram> train, evaluate;  ///< by rows

  std::map<std::int64_t, ReplicaProgram>& programs(StepKind kind) {
    return kind == StepKind::kTrain ? train : evaluate;
  }
};

/// The row numbers that a lane's replicas meet.
struct RowCounts {
  std::set<std::int64_t> train, evaluate;
};

/// One device with its stream, the programs of its replicas and the memory they compute in.
class Lane {
 public:
  /// `products`: the gradients that the training programs leave to the update.
  Lane(const LanePlacement& placement, const Model& model, const std::vector<ProductGradient>& products);

  Device& device() const { return *device_; }
  Stream& stream() const { return *stream_; }
  std::vector<Replica>& replicas() { return replicas_; }

  /// Builds the programs. Call it on the lane's thread: kernels take its number of threads.
  void build(const RowCounts& rows, const KernelRegistry& registry);

  /// Gives the programs their memory.
  void bind(const VariableStore& variables, DerivedCopies& derived);

  /// Where a replica's programs leave a product gradient's operand: in its input buffer or one of its own.
  const float* operand(const Replica& replica, ValueId value) const;

  /// After how many steps of a training program a variable's gradient is complete; nothing where no replica of the lane
  /// has examples, or the variable no gradient.
  std::optional<std::size_t> gradient_complete_after(std::size_t variable) const;

  /// Bytes of the arena and of the replicas' own buffers.
  std::size_t bytes() const;

 private:
  using Programs = std::map<std::int64_t, Program>;
  void allocate(Replica& replica, std::int64_t rows);
  void bind_programs(Replica& replica, StepKind kind, const VariableStore& variables, DerivedCopies& derived);

  std::vector<ValueId> outputs_of(StepKind kind) const;

  const Model& model_;
  const std::vector<ProductGradient>& products_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Replica> replicas_;
  Programs train_, evaluate_;
  Buffer arena_;
};

}  // namespace mirrortrain
