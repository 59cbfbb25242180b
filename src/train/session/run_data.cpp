#include "train/session/run_data.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/hung_process.h"
#include "base/usable_cores.h"
#include "data/loading/adapt.h"
#include "data/loading/load.h"
#include "data/order/shards.h"
#include "train/session/check_data.h"
#include "train/session/run.h"
#include "train/warnings/value_range_warnings.h"

namespace mirrortrain {
namespace {

std::unique_ptr<data::Feeder> feeder_for(const CheckedConfiguration& checked,
                                         const std::vector<data::PreprocessingStep>& preprocessing,
                                         const std::optional<data::Dataset>& dataset, const Run& run,
                                         bool trains = false) {
  if (!dataset) return nullptr;
  data::FeederOptions options = trains ? training_options(checked, *dataset) : feeder_options(checked.values());
  options.watch = run.watch.get();
  return std::make_unique<data::Feeder>(*dataset, preprocessing, checked.examples, options);
}

/// Calls `read`; an error in what one key of a source names gets the place of that key, where it is written.
template <class Read>
auto at_own_key(const CheckedConfiguration& checked, const Read& read) {
  try {
    return read();
  } catch (const data::KeyErrorBelow& error) {
    const config::Place own = checked.place_of(error.own_path());
    if (!own.given()) throw;
    throw data::KeyError(own, error.own_path(), error.message());
  }
}

/// Reads only one split. Throws UsageError if the configuration does not have it.
std::unique_ptr<data::Feeder> load_feeder(const CheckedConfiguration& checked, const RunParts& parts, data::Split split,
                                          Run& run) {
  require_data_files(checked, {split});
  const Configuration& values = checked.values();
  if (auto loaded = at_own_key(checked, [&] {
        return data::load(values.data, values.seed, checked.wanted_examples(), split, parts.adapted);
      })) {
    run.adapted = std::move(loaded->adapted);
    const bool is_train = split == data::Split::kTrain;
    const auto steps = adapted_preprocessing(checked, run.adapted, is_train ? &loaded->dataset : nullptr);
    return data::at_its_place(data::key_of(values.data, split), [&] {
      return feeder_for(checked, steps, loaded->dataset, run, parts.trains && is_train);
    });
  }
  throw UsageError(data::missing_text(values.data, split));
}

/// The number of rows of a full batch of each worker, or of the workers of a row, which compute the same ones.
std::vector<std::int64_t> rows_of_workers(std::int64_t batch, int replicas, int workers) {
  workers = std::min(workers, replicas);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(workers));
  for (int replica = 0; replica < replicas; ++replica) {
    rows[static_cast<std::size_t>(replica / (replicas / workers))] += rows_of_replica(batch, replica, replicas).count;
  }
  return rows;
}

/// The numbers of time steps at which the first epoch's batches are computed; empty if sequences are not bucketed.
std::string lengths_note(data::Order order, const data::Feeder& train) {
  if (train.buckets().boundaries().empty()) return "";
  std::map<std::int64_t, std::int64_t> batches;
  for (bool more = true; more;) {
    const data::Order::Batch batch = order.next();
    const std::int64_t length = train.buckets().length_of(batch.rows);
    ++batches[length > 0 ? length : train.features(0).row_elements()];
    more = !batch.ends_epoch;
  }
  std::string text;
  for (const auto& [length, count] : batches) {
    text += fmt::format("{}{} at {} steps", text.empty() ? "" : ", ", count, length);
  }
  return fmt::format("data.sequences: batches of epoch 1: {}", text);
}

}  // namespace

void load_feeders(const CheckedConfiguration& checked, const RunParts& parts, Run& run) {
  const auto wants = [&](data::Split split) { return parts.evaluates.contains(split); };
  if (!wants(data::Split::kValidation) && !wants(data::Split::kTest)) {
    run.train = load_feeder(checked, parts, data::Split::kTrain, run);
  } else if (parts.trains) {
    std::vector<data::Split> wanted{data::Split::kTrain};
    wanted.insert(wanted.end(), parts.evaluates.begin(), parts.evaluates.end());
    require_data_files(checked, wanted);
    const data::DataOptions& data = checked.values().data;
    data::Splits splits =
        at_own_key(checked, [&] { return data::load(data, checked.values().seed, checked.wanted_examples()); });
    run.adapted = std::move(splits.adapted);
    const auto steps = adapted_preprocessing(checked, run.adapted, &splits.train);
    const auto feeder = [&](const auto& source, const std::optional<data::Dataset>& dataset, bool trains) {
      return data::at_its_place(source, [&] { return feeder_for(checked, steps, dataset, run, trains); });
    };
    run.train = feeder(data.train, splits.train, true);
    if (wants(data::Split::kValidation)) run.validation = feeder(data.validation, splits.validation, false);
    if (wants(data::Split::kTest)) run.test = feeder(data.test, splits.test, false);
  } else {
    if (wants(data::Split::kValidation)) run.validation = load_feeder(checked, parts, data::Split::kValidation, run);
    if (wants(data::Split::kTest)) run.test = load_feeder(checked, parts, data::Split::kTest, run);
  }
}

void set_order(const CheckedConfiguration& checked, const data::Dataset& train, const Hardware& hardware, Run& run) {
  const Configuration& values = checked.values();
  const data::DataOptions& data = values.data;
  const int workers = hardware.cluster.workers;
  const int replicas =
      workers == 1 ? 1 : count_replicas(values.strategy, data.global_batch_size, hardware.machine, workers);
  const bool groups = data.sequences.value && data.sequences.value->group_by_length;
  data::ChosenShards chosen =
      choose_shards(groups ? data::AutoShard::kData : data.auto_shard, train,
                    rows_of_workers(data.global_batch_size, replicas, workers), values.strategy.elastic);
  run.shards_note = std::move(chosen.note);
  if (data.auto_shard == data::AutoShard::kOff && workers > 1 && !data.shuffle) {
    spdlog::warn(
        "data.auto_shard: off without data.shuffle has every worker compute the same examples; use shuffle: true, or "
        "auto_shard: data");
  }
  if (workers == 1) require_batches(checked, train.rows());
  if (checked.has_model()) require_value_ranges(checked, train);
  run.order = std::make_unique<data::Order>(
      train.rows(),
      data::Order::Options{data.global_batch_size, data.shuffle, data.drop_remainder, values.seed,
                           std::move(chosen.shards), groups ? run.train->buckets().of_rows() : std::vector<int>()});
  if (run.train) run.lengths_note = lengths_note(*run.order, *run.train);
}

data::Dataset as_kept(const CheckedConfiguration& checked, const data::Dataset& examples,
                      const data::Adapted* adapted) {
  const auto is_binning = [](const data::PreprocessingStep& step) { return data::as_binning(step) != nullptr; };
  if (std::ranges::none_of(checked.values().data.preprocessing, is_binning)) return examples;
  data::Adapted own = adapted != nullptr ? *adapted : data::Adapted{};
  const data::Feeder feeder(examples, adapted_preprocessing(checked, own), checked.examples,
                            {.ahead = {.memory = 0, .threads = 0}});
  return feeder.dataset();
}

std::vector<data::PreprocessingStep> adapted_preprocessing(const CheckedConfiguration& checked, data::Adapted& adapted,
                                                           const data::Dataset* train) {
  const data::DataOptions& data = checked.values().data;
  if (adapted.steps.empty() && data::steps_to_adapt(data.preprocessing) > 0) {
    const int threads = feeder_options(checked.values()).ahead.threads;
    const auto adapt_to = [&](const data::Dataset& all) {
      adapted.steps = data::adapt(data.preprocessing, all, checked.examples.inputs, threads);
      if (adapted.table) {
        data::spare_absent_words(*adapted.table, data.preprocessing, checked.examples.inputs,
                                 adapted.steps.normalizations);
      }
    };
    if (train != nullptr) {
      adapt_to(*train);
    } else {
      adapt_to(data::load(data, checked.values().seed, &checked.examples, data::Split::kTrain, nullptr)->dataset);
    }
  }
  return data::with_adapted(data.preprocessing, adapted.steps);
}

data::FeederOptions feeder_options(const Configuration& values) {
  const int threads = static_cast<int>(values.data.threads.value_or(std::ssize(usable_cores())));
  data::FeederOptions options{.ahead = {values.data.bytes_ahead(), threads}, .seed = values.seed};
  options.bucket_boundaries = data::bucket_boundaries(values.data);
  return options;
}

data::FeederOptions training_options(const CheckedConfiguration& checked, const data::Dataset& train) {
  data::FeederOptions options = feeder_options(checked.values());
  options.trains = true;
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) {
    const losses::ClassWeight* const classes = class_weight_of(checked.objectives[i].loss.value);
    options.classes.push_back(classes == nullptr       ? data::ClassWeights()
                              : classes->is_balanced() ? data::balanced_weights(train, i)
                                                       : classes->by_class());
  }
  return options;
}

std::unique_ptr<data::StallWatch> make_stall_watch(const Configuration& values, data::StallWatch::OnStall on_stall) {
  const double seconds = values.training.stall_timeout_seconds;
  if (seconds == 0) return nullptr;
  if (!on_stall) {
    on_stall = [](const std::string& what) { end_hung_process(what); };
  }
  return std::make_unique<data::StallWatch>(seconds, std::move(on_stall));
}

}  // namespace mirrortrain
