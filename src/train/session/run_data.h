#pragma once

#include <memory>
#include <vector>

#include "data/feeding/feeder.h"
#include "train/session/check_configuration.h"
#include "train/session/hardware.h"

/// The data of a run: reading the splits, feeding them, and the order of their batches.
namespace mirrortrain {

struct Run;
struct RunParts;

/// Reads the splits that `parts` wants into the run. Throws Error for data that are missing or broken, UsageError for a
/// split that is to be evaluated and does not exist.
void load_feeders(const CheckedConfiguration& checked, const RunParts& parts, Run& run);
/// The order of the training data's batches, distributed to the workers, and the notes on it.
void set_order(const CheckedConfiguration& checked, const data::Dataset& train, const Hardware& hardware, Run& run);

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

}  // namespace mirrortrain
