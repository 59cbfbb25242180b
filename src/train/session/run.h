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
#include "strategy/strategy.h"
#include "train/checkpoint/run_folder.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"
#include "train/session/hardware.h"

namespace mirrortrain {

/// Of a chief or a worker of a run with parameter servers.
struct ParameterServerRole {
  std::vector<std::string> servers;  ///< their addresses
  rpc::Security security;
  DispatchService* dispatch = nullptr;  ///< of the chief; null on a worker, whose strategy computes gradients alone
};

struct Run;

/// What a command wants of a configuration.
struct RunParts {
  bool trains = true;
  std::set<data::Split> evaluates;  ///< those that the configuration has
  /// What a run's training data taught, of a run that was trained; null: it is learnt from the training data.
  const data::Adapted* adapted = nullptr;
  /// Replicas other than the configuration's own, without its `state`: lists there have a value for each of its own.
  std::optional<StrategyOptions> strategy;
  /// Absent: every step is computed and applied here.
  std::optional<ParameterServerRole> parameter_servers;
  /// Ends the process where an example is not read within training.stall_timeout_seconds; default: with the error
  /// alone.
  data::StallWatch::OnStall on_stall{};
  /// Called with the run's data before its model is built; what it throws ends that.
  std::function<void(const Run&)> on_examples{};
};

/// The data of a run, the order of its batches and its strategy, ready for the first step but for the variables'
/// values. The one way in which commands and tests make them.
struct Run {
  std::unique_ptr<data::StallWatch> watch;  ///< of what the splits read; null where it has no limit
  /// The splits in the form that the model takes; null where there is none, it is not wanted, or there is no model.
  std::unique_ptr<data::Feeder> train, validation, test;
  data::Adapted adapted;               ///< from the training data, as far as the splits depend on it
  std::unique_ptr<data::Order> order;  ///< null unless it trains
  std::string classes_note;            ///< how many examples each class has, for the log; may be empty
  std::string shards_note;             ///< how workers share the examples, for the log; may be empty
  std::string lengths_note;            ///< at how many steps sequences are computed, for the log; may be empty
  std::unique_ptr<Strategy> strategy;

  const data::Feeder* split(data::Split split) const;
  /// Those that there are.
  std::vector<const data::Feeder*> examples() const;
  /// The data of training, for what is said of them.
  SplitsToCheck splits() const;
  /// Of a split that there is: see data/fingerprint.h. Computed once.
  const std::string& fingerprint(data::Split split) const;
  /// For the log: the strategy's, and those above.
  std::vector<std::string> notes() const;

 private:
  mutable std::map<data::Split, std::string> fingerprints_;
};

/// Reads the data and builds every program for its batch sizes. Throws Error for what is missing, broken or does not
/// fit the model or the machine, UsageError for a split that is to be evaluated alone and that does not exist.
Run build_run(const CheckedConfiguration& checked, const RunParts& parts, const Hardware& hardware = this_hardware());

/// data.preprocessing, with mean and variance of normalizations that adapt. What `adapted` does not hold of them is
/// computed from the training data and kept there; `train` is read where it is null.
std::vector<data::PreprocessingStep> adapted_preprocessing(const CheckedConfiguration& checked, data::Adapted& adapted,
                                                           const data::Dataset* train = nullptr);

/// How a split's examples are made.
data::FeederOptions feeder_options(const Configuration& values);
/// The same for training steps on this data, in which alone steps that draw act and classes have weights.
data::FeederOptions training_options(const Configuration& values, const data::Dataset& train);

/// Of training.stall_timeout_seconds; null where that is no limit. An empty `on_stall` ends the process with the error.
std::unique_ptr<data::StallWatch> make_stall_watch(const Configuration& values,
                                                   data::StallWatch::OnStall on_stall = {});

/// Where the list of examples that were left out goes.
enum class LeftOutList {
  kFirst,  ///< the first ones, to the console
  kLog,    ///< all that are known, to the log file alone
};
/// Tells how many examples each data set was read without, if any.
void report_left_out(std::span<const data::Dataset* const> datasets, LeftOutList list);
void report_left_out(const Run& run, LeftOutList list);
/// The same in a line or, with the first reasons, some.
std::string left_out_text(const data::LeftOut& left, LeftOutList list);
/// Warns of what is to be known of how data were read, where nothing else does.
void warn_of_remarks(const data::Dataset& dataset);

/// The strategy alone, of which nothing is prepared. Throws UsageError and Error for what the machine lacks.
std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const RunParts& wanted,
                                        const Hardware& hardware);

/// Where the variables are on so many parameter servers: every task computes the same.
Placement placement_of(const CheckedConfiguration& checked, int servers);

/// Gives every variable its first value: its initializer's, or that in `model.initial_weights`. Throws what
/// load_initial_weights does. Call Strategy::variables_changed then.
void set_first_values(const CheckedConfiguration& checked, const VariableStore& variables);

/// The exact sums over all examples of a data set, each visited once, in global batches of `batch_size` (the last may
/// be short).
StepSums evaluate_all(Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size);
/// The same, asking before each batch, which are counted from 1, whether to go on: nullopt where not.
std::optional<StepSums> evaluate_while(const std::function<bool(std::int64_t batch)>& goes_on, Strategy& strategy,
                                       const data::Feeder& examples, std::int64_t batch_size);

}  // namespace mirrortrain
