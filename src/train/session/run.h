#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/feeding/feeder.h"
#include "data/loading/load.h"
#include "data/order/order.h"
#include "rpc/security.h"
#include "strategy/parameter_server/dispatch_service.h"
#include "strategy/strategy.h"
#include "train/checkpoint/run_folder.h"
#include "train/configuration/checked_configuration.h"
#include "train/session/hardware.h"
#include "train/warnings/splits_to_check.h"

namespace mirrortrain {

/// For a chief or a worker of a run with parameter servers.
struct ParameterServerRole {
  std::vector<std::string> servers;  ///< their addresses
  rpc::Security security;
  DispatchService* dispatch = nullptr;  ///< of the chief; null on a worker, whose strategy computes only gradients
};

struct Run;

/// The parts of a configuration that a command needs.
struct RunParts {
  bool trains = true;
  std::set<data::Split> evaluates;  ///< those that the configuration has
  /// The values adapted to a trained run's training data; null: they are computed from the training data.
  const data::Adapted* adapted = nullptr;
  /// Replaces the configuration's strategy and replicas, without its `state`: lists there have a value for each of the
  /// original replicas.
  std::optional<StrategyOptions> strategy;
  /// Absent: every step is computed and applied in this process.
  std::optional<ParameterServerRole> parameter_servers;
  /// Ends the process if an example is not read within training.stall_timeout_seconds; by default only with the error.
  data::StallWatch::OnStall on_stall{};
  /// Called with the run's data before its model is built; its exceptions end the build.
  std::function<void(const Run&)> on_examples{};
};

/// The data of a run, the order of its batches and its strategy, ready for the first step except for the variables'
/// values. Commands and tests all create runs by it.
struct Run {
  std::unique_ptr<data::StallWatch> watch;  ///< for the splits' reads; null if there is no limit
  /// The splits in the model's form; null if a split does not exist or is not needed, or if there is no model.
  std::unique_ptr<data::Feeder> train, validation, test;
  data::Adapted adapted;               ///< from the training data, as far as the splits depend on it
  std::unique_ptr<data::Order> order;  ///< null unless it trains
  std::string classes_note;            ///< the number of examples of each class, for the log; may be empty
  std::string shards_note;             ///< how examples are distributed to workers, for the log; may be empty
  std::string lengths_note;            ///< the numbers of time steps of sequences, for the log; may be empty
  std::unique_ptr<Strategy> strategy;
  // Bytes of this process in memory, as measured: of the program with its libraries and configuration; what reading the
  // data added.
  std::size_t memory_of_program = 0, memory_of_data = 0;

  Run();  // not inline, as Configuration's
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  const data::Feeder* split(data::Split split) const;
  /// The splits that exist.
  std::vector<const data::Feeder*> examples() const;
  /// The splits, for warnings about them.
  SplitsToCheck splits() const;
  /// Of an existing split: see data/fingerprint.h. Computed once.
  const std::string& fingerprint(data::Split split) const;
  /// For the log: the strategy's, and those above.
  std::vector<std::string> notes() const;

 private:
  mutable std::map<data::Split, std::string> fingerprints_;
};

/// Reads the data and builds every program for its batch sizes. Throws Error for data that are missing, broken or do
/// not fit the model or the machine, UsageError for a split that is to be evaluated and does not exist.
Run build_run(const CheckedConfiguration& checked, const RunParts& parts, const Hardware& hardware = this_hardware());

/// Initializes every variable, by its initializer or from `model.initial_weights`. Throws the exceptions of
/// load_initial_weights. Called by every worker, before the first step.
void set_first_values(const CheckedConfiguration& checked, Strategy& strategy);

/// Has the examples from `first` on read ahead, those of three batches of `batch_size`. Not where several workers share
/// a batch: each would read those of the others, too.
void expect_batches(const Strategy& strategy, const data::Feeder& examples, std::int64_t first,
                    std::int64_t batch_size);

/// The exact sums over all examples of a data set, each visited once, in global batches of `batch_size` (the last may
/// be short).
StepSums evaluate_all(Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size);
/// The same, but calls `goes_on` before each of the batches, counted from 1: returns nullopt if it returns false.
std::optional<StepSums> evaluate_while(const std::function<bool(std::int64_t batch, std::int64_t batches)>& goes_on,
                                       Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size);

}  // namespace mirrortrain
