#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "strategy/reduction/workers.h"
#include "strategy/step_spec.h"
#include "strategy/topology.h"
#include "strategy/variables/state_variables.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Sizes of global batches that a run will meet, and the data sets that they are from, so that all programs and memory
/// are there before the first step.
struct BatchSizes {
  std::vector<std::int64_t> train, evaluate;
  std::vector<const data::Feeder*> data_sets;  ///< must outlive the strategy
  bool predicts = false;                       ///< whether `predict` is called
};

/// What `Strategy::predict` writes of each example.
struct PredictedShapes {
  Shape output;
  std::optional<Shape> mask;  ///< absent where the output carries none
};

/// What a run takes, in bytes.
struct MemoryForecast {
  std::size_t variables = 0;    ///< weights, gradients, optimizer slots, copies and derived copies of all replicas
  std::size_t activations = 0;  ///< arenas and input buffers of all replicas
  std::size_t examples = 0;     ///< in the memory of GPUs

  /// A GPU with what the run takes of it, and what is left of it now.
  struct Gpu {
    DeviceId id;
    std::size_t run = 0;
    DeviceMemory memory;
  };
  std::vector<Gpu> gpus;
};

/// Where the time of training steps went.
struct ProfileEntry {
  std::string who;    ///< "cpu:0", "replica 1"
  std::string layer;  ///< empty for a lane's action
  std::string what;   ///< an action, or an op: of the program for full batches alone
  double seconds = 0;
};

/// Trains and evaluates a model on the replicas of a run. The training loop drives any strategy by this alone. On
/// several workers every one calls the same functions in the same order.
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual const Topology& topology() const = 0;
  int num_replicas_in_sync() const { return topology().replicas; }
  /// How gradients are added and why, for the log; may be empty.
  virtual std::string note() const { return ""; }

  /// Builds what steps of these sizes need. Once. Throws Error where a kernel is missing or memory is short.
  virtual void prepare(const BatchSizes& sizes) = 0;

  /// Trains on one global batch of a size that was prepared. Devices may work behind the host: steps are in flight
  /// until their sums are taken.
  virtual void train(const StepSpec& step) = 0;
  /// Goes over one batch of a size that was prepared, with what reading the variables outside the replicas gives.
  /// Regularization counts as in training.
  virtual void evaluate(const StepSpec& step) = 0;

  /// Throws Error where a strategy computes no predictions, as `predict` does.
  virtual PredictedShapes predicted_shapes() const { throw Error("this strategy computes no predictions"); }
  /// Writes the model's output for one batch of a size that was prepared for evaluation: float32 [rows, ...], in the
  /// batch's order. `masks`: the mask that it carries, float32 [rows, ...]; empty where it carries none, or nobody
  /// looks at it.
  virtual void predict(const StepSpec& /*step*/, std::span<float> /*outputs*/, std::span<float> /*masks*/) {
    throw Error("this strategy computes no predictions");
  }

  /// The sums of each step since the last call, in order, over the examples of all replicas, waiting for the devices;
  /// those of training were computed before the step's update. A step that was skipped, as its numbers were not finite,
  /// has no examples. Valid until the next step.
  virtual std::span<const StepSums> take_sums() = 0;
  /// Whether the sums must be taken before the next step.
  virtual bool must_take_sums() const = 0;

  /// The variables of all replicas in host memory, for who fills, saves and reads them between steps: waits for the
  /// devices' last values. Call `variables_changed` after writing.
  virtual const VariableStore& variables() = 0;
  virtual void variables_changed() = 0;
  virtual const StateVariables& state() const = 0;

  /// What the run's processes send each other between steps: what the loop decides, the chief decides; what it reads
  /// from disk, the chief reads.
  virtual Workers workers() { return Workers(nullptr); }
  /// The host's variables and the `state`, of every replica, become the chief's on every worker; call
  /// `variables_changed` then.
  virtual void take_variables_from_chief() {}

  /// Compares the variables that all replicas share, where they are in several memories. Names the first whose copies
  /// differ, and the replicas ("dense/kernel: replica 2 has other values than the rest"); empty where all are equal.
  virtual std::string differing_replicas() { return ""; }

  /// Lets the other workers know that this one has failed, outside the strategy: what they wait for ends with the
  /// reason.
  virtual void abort(const std::string& /*reason*/) {}

  // For the log; a strategy that does not know says nothing.
  /// How many updates were computed from variables that so many others had changed meanwhile: pushes to parameter
  /// servers by staleness, since the run began.
  virtual std::vector<std::int64_t> staleness() const { return {}; }
  virtual MemoryForecast memory() const { return {}; }
  /// The share of its training steps that each lane waited for others, since the last call.
  virtual std::vector<double> take_waiting_shares() { return {}; }
  /// From now on keeps the time of every action and op of training. Devices that work behind the host are waited for
  /// after each, so that steps take longer than otherwise.
  virtual void profile() {}
  virtual std::vector<ProfileEntry> profile_entries() const { return {}; }
};

}  // namespace mirrortrain
