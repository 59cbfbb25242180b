#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "kernels/step_kernels.h"
#include "strategy/reduction/waited_for.h"
#include "strategy/reduction/workers.h"
#include "strategy/step_spec.h"
#include "strategy/topology.h"
#include "strategy/variables/lasting_variable.h"
#include "strategy/variables/state_variables.h"

namespace mirrortrain {

struct Model;

/// The sizes of a run's global batches, and their data sets, so that all programs and memory are created before the
/// first step.
struct BatchSizes {
  std::vector<std::int64_t> train, evaluate;
  std::vector<const data::Feeder*> data_sets;  ///< must outlive the strategy
  bool predicts = false;                       ///< whether `predict` is called
};

/// Shapes that `Strategy::predict` writes of an output for one example.
struct PredictedShapes {
  Shape output;
  std::optional<Shape> mask;  ///< nothing if the output has none
};

/// Where `Strategy::predict` writes an output of the model: float32 [rows, ...], in the batch's order.
struct PredictedOutput {
  std::span<float> values;
  std::span<float> mask;  ///< empty if the output has none, or if it is not needed
};

/// Memory requirements of a run, in bytes.
struct MemoryForecast {
  std::size_t variables = 0;    ///< weights, gradients, optimizer slots, copies and derived copies of all replicas
  std::size_t activations = 0;  ///< arenas and input buffers of all replicas
  std::size_t examples = 0;     ///< in GPU memory
  // In host memory, of a worker on CPUs:
  std::size_t received = 0;    ///< gradients that other workers sent, before they are added
  std::size_t shared = 0;      ///< other workers' memory that this one reads and writes
  std::size_t window = 0;      ///< of what is divided among workers, while it is saved
  std::size_t directions = 0;  ///< to make directions of whole variables

  /// A GPU with the run's memory requirements and its currently free memory.
  struct Gpu {
    DeviceId id;
    std::size_t run = 0;
    DeviceMemory memory;
  };
  std::vector<Gpu> gpus;
};

/// A part of the time of training steps.
struct ProfileEntry {
  std::string who;    ///< "cpu:0", "replica 1"
  std::string layer;  ///< empty for a lane's action
  std::string what;   ///< an action, or an op: only of the program for full batches
  double seconds = 0;
};

/// Trains and evaluates a model on the replicas of a run. The training loop uses any strategy only through this
/// interface. With several workers, every worker calls the same functions in the same order.
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual const Topology& topology() const = 0;
  int num_replicas_in_sync() const { return topology().mesh.replicas(); }
  /// How gradients are added and why, for the log; may be empty.
  virtual std::string note() const { return ""; }

  /// Builds everything for steps of these sizes. Call it once. Throws Error if a kernel is missing or memory is
  /// insufficient.
  virtual void prepare(const BatchSizes& sizes) = 0;

  /// Trains on one global batch of a prepared size. Devices may run asynchronously: steps are in flight until their
  /// sums are taken.
  virtual void train(const StepSpec& step) = 0;
  /// Evaluates one batch of a prepared size, with the variables as read outside the replicas. Regularization is
  /// included as in training.
  virtual void evaluate(const StepSpec& step) = 0;

  /// Throws Error if the strategy computes no predictions, like `predict`.
  virtual std::vector<PredictedShapes> predicted_shapes() const {
    throw Error("this strategy computes no predictions");
  }
  /// Takes a data set in place of a prepared one, which may then be destroyed. Its examples have the same shapes; their
  /// element types may differ.
  virtual void replace_data_set(const data::Feeder& /*before*/, const data::Feeder& /*now*/) {
    throw Error("this strategy computes no predictions");
  }
  /// Writes the model's outputs for one batch of a size prepared for evaluation, all of them on every worker.
  virtual void predict(const StepSpec& /*step*/, std::span<const PredictedOutput> /*outputs*/) {
    throw Error("this strategy computes no predictions");
  }

  /// The sums of each step since the last call, in order, over the examples of all replicas; waits for the devices.
  /// Those of training were computed before the step's update. A step that was skipped because of non-finite numbers
  /// has no examples. Valid until the next step.
  virtual std::span<const StepSums> take_sums() = 0;
  /// Whether the sums must be taken before the next step.
  virtual bool must_take_sums() const = 0;

  // Between steps the host reads and writes the variables one after the other, in the model's order; these wait for
  // the devices' last values. Every worker makes the same calls, and has the same values.
  /// Calls `visit` for each variable with `what` lasts of it.
  virtual void read_variables(Lasting what, const VariableVisit& visit) = 0;
  /// The same in pieces, which need little memory: each variable's value, then its slots, accumulated gradients and
  /// residuals.
  virtual void read_in_pieces(Lasting what, const PieceVisit& visit) {
    read_variables(what, [&](const LastingVariable& variable) { for_each_piece(variable, visit); });
  }
  /// Calls `visit` to write all of `what` lasts of each variable. Of several workers only the chief's visits, and its
  /// values become those of all.
  virtual void write_variables(Lasting what, const VariableVisit& visit) = 0;
  /// The same where `visit` reads the last values, and may keep them.
  virtual void change_variables(Lasting what, const VariableVisit& visit) = 0;
  /// The model with the weights that the replicas keep in parts; null if each has all.
  virtual const Model* model_in_parts() const { return nullptr; }
  /// By variable, which of the memories with the same parts of the layers keeps its state and updates it, because the
  /// update reads all of the variable; -1 for others. Empty if there are none such.
  virtual std::vector<int> state_owners() const { return {}; }
  /// Whether gradients are accumulated over steps, or stored for other reasons.
  virtual bool keeps_gradients() const = 0;
  virtual const StateVariables& state() const = 0;

  /// Where somebody else applies the gradients: that of a table after the last step if it is sparse, summed over the
  /// replicas here; waits for the devices. Valid until the next step.
  virtual std::optional<SparseRows> sparse_gradient(std::size_t /*variable*/) { return std::nullopt; }

  /// What the run's processes send each other between steps, when the last one's work is done and before the next one:
  /// what the loop decides, the chief decides; what it reads from disk, the chief reads.
  virtual Workers workers() { return Workers(nullptr); }
  /// Compares the variables that all replicas share, if they are in several memories. Returns the first whose copies
  /// differ, and the replicas ("dense/kernel: replica 2 has other values than the rest"); empty if all are equal.
  virtual std::string differing_replicas() { return ""; }

  /// Notifies the other workers that this one has failed, outside the strategy: their waits end with the reason.
  virtual void abort(const std::string& /*reason*/) {}

  // For the log; strategies without such data return nothing.
  /// Number of updates by staleness, the number of other updates applied since their variables were read: pushes to
  /// parameter servers since the run began.
  virtual std::vector<std::int64_t> staleness() const { return {}; }
  virtual MemoryForecast memory() const { return {}; }
  /// The share of its training steps' time that each lane waited for others, since the last call.
  virtual std::vector<double> take_waiting_shares() { return {}; }
  /// How long the workers waited for each other in the training steps whose sums were taken since the last call;
  /// nothing for one worker and on GPUs.
  virtual WaitedFor take_waited_for() { return {}; }
  /// Starts recording the time of every action and op of training. Asynchronous devices are waited for after each, so
  /// that steps take longer.
  virtual void profile() {}
  virtual std::vector<ProfileEntry> profile_entries() const { return {}; }
};

}  // namespace mirrortrain
