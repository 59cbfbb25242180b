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
#include "strategy/parameter_server/placement.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/strategy.h"
#include "train/checkpoint/run_folder.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"
#include "train/session/hardware.h"

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

/// data.preprocessing, with mean and variance of adapted normalizations, and adapted boundaries of bins. Values missing
/// from `adapted` are computed from the training data and stored there; `train` is read if it is null.
std::vector<data::PreprocessingStep> adapted_preprocessing(const CheckedConfiguration& checked, data::Adapted& adapted,
                                                           const data::Dataset* train = nullptr);

/// Examples as a run keeps them, by which it knows that they have not changed: with numbers in bins, where it has such
/// steps.
data::Dataset as_kept(const CheckedConfiguration& checked, const data::Dataset& examples, const data::Adapted* adapted);

/// How a split's examples are made.
data::FeederOptions feeder_options(const Configuration& values);
/// The same for training on this data; only there, random transforms and class weights apply.
data::FeederOptions training_options(const CheckedConfiguration& checked, const data::Dataset& train);

/// For training.stall_timeout_seconds; null if that is no limit. An empty `on_stall` ends the process with the error.
std::unique_ptr<data::StallWatch> make_stall_watch(const Configuration& values,
                                                   data::StallWatch::OnStall on_stall = {});

/// Where the list of left-out examples is written.
enum class LeftOutList {
  kFirst,  ///< the first ones, to the console
  kLog,    ///< all known ones, only to the log file
  kAll,    ///< all known ones, to the console
};
/// Reports how many examples of each data set were left out, if any.
void report_left_out(std::span<const data::Dataset* const> datasets, LeftOutList list);
void report_left_out(const Run& run, LeftOutList list);
/// The known reasons, each in a line of its own behind a colon, and how many more there are.
std::string reasons_text(const data::LeftOut& left);
/// The same in one line or, with the first reasons, several.
std::string left_out_text(const data::LeftOut& left, LeftOutList list);
/// Warns of remarks on how data were read, if they are not reported elsewhere.
void warn_of_remarks(const data::Dataset& dataset);

/// The strategy alone, of which nothing is prepared. Throws UsageError and Error for what the machine lacks.
std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const RunParts& wanted,
                                        const Hardware& hardware);

/// The placement of the variables on `servers` parameter servers: every task computes the same.
Placement placement_of(const CheckedConfiguration& checked, int servers);
/// The tables whose gradients are sparse on replicas of this topology.
std::vector<SparseGradient> sparse_gradients_of(const CheckedConfiguration& checked, const Topology& topology);
/// Bytes of a replica's gradients that are added across replicas.
std::uint64_t gradient_bytes_of(const CheckedConfiguration& checked, const Topology& topology);

/// Initializes every variable, by its initializer or from `model.initial_weights`. Throws the exceptions of
/// load_initial_weights. Called by every worker, before the first step.
void set_first_values(const CheckedConfiguration& checked, Strategy& strategy);

/// The exact sums over all examples of a data set, each visited once, in global batches of `batch_size` (the last may
/// be short).
StepSums evaluate_all(Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size);
/// The same, but calls `goes_on` before each of the batches, counted from 1: returns nullopt if it returns false.
std::optional<StepSums> evaluate_while(const std::function<bool(std::int64_t batch, std::int64_t batches)>& goes_on,
                                       Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size);

}  // namespace mirrortrain
