#include "train/session/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/hung_process.h"
#include "base/process_memory.h"
#include "data/fingerprint.h"
#include "data/loading/adapt.h"
#include "data/order/shards.h"
#include "device/cpu/cpu_device.h"
#include "kernels/host_kernels.h"
#include "strategy/parameter_server/parameter_server_strategy.h"
#include "strategy/reduction/choose_reduction.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/checkpoint/weights.h"
#include "train/session/check_data.h"
#include "train/session/class_counts.h"

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

/// Adds the sizes of the global batches into which the examples are divided.
void add_batch_sizes(std::int64_t examples, std::int64_t batch_size, bool drop_remainder,
                     std::vector<std::int64_t>& sizes) {
  if (examples >= batch_size) sizes.push_back(batch_size);
  if (examples % batch_size > 0 && !drop_remainder) sizes.push_back(examples % batch_size);
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
  run.order = std::make_unique<data::Order>(
      train.rows(),
      data::Order::Options{data.global_batch_size, data.shuffle, data.drop_remainder, values.seed,
                           std::move(chosen.shards), groups ? run.train->buckets().of_rows() : std::vector<int>()});
  if (run.train) run.lengths_note = lengths_note(*run.order, *run.train);
}

/// The chief's strategy, which computes nothing itself.
std::unique_ptr<Strategy> make_chiefs_strategy(const CheckedConfiguration& checked, const ParameterServerRole& role) {
  ParameterServerParts parts{
      checked.policies(), checked.values().state, placement_of(checked, static_cast<int>(role.servers.size())),
      role.servers,       role.security,          checked.values().strategy.communication.timeout_seconds};
  return make_parameter_server_strategy(*checked.model, std::move(parts), *role.dispatch);
}

}  // namespace

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
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const int threads = static_cast<int>(values.data.threads.value_or(cores));
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

std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const RunParts& wanted,
                                        const Hardware& hardware) {
  const Configuration& values = checked.values();
  const bool served = wanted.parameter_servers.has_value();
  if (served && wanted.parameter_servers->dispatch != nullptr) {
    return make_chiefs_strategy(checked, *wanted.parameter_servers);
  }
  const StrategyOptions& options = wanted.strategy ? *wanted.strategy : values.strategy;
  Topology topology = make_topology(options, values.data.global_batch_size, hardware.machine, hardware.cluster);
  if (values.training.precision == Precision::kMixedBfloat16 && !topology.on_gpus() && !cpu_has_bfloat16()) {
    spdlog::warn("mixed_bfloat16: {} has no bfloat16 instructions, so this will not be faster than float32",
                 cpu_name());
  }
  MirroredParts parts;
  parts.options = options;
  parts.gradients = values.gradients;
  if (served) {  // gradients are stored and sent to the servers
    parts.updates = false;
    parts.gradients = {.aggregation_method = values.gradients.aggregation_method};
    parts.keeps_gradients = true;
  }
  if (wanted.trains && values.logging.reads_gradients()) parts.keeps_gradients = true;
  parts.policies = checked.policies();
  if (!wanted.strategy && !served) parts.state = values.state;
  parts.seed = values.seed;
  parts.cache = values.data.cache;
  if (wanted.trains) parts.largest_batch = values.data.global_batch_size;
  parts.steps.captures = values.training.cuda_graph == CudaGraph::kAuto;
  parts.steps.skips_non_finite = values.training.on_non_finite == OnNonFinite::kSkip && checked.has_model();
  parts.backend = hardware.backend(topology, values.training);
  parts.why_no_nccl = hardware.why_no_nccl;
  parts.communicators = hardware.communicators;
  return std::make_unique<MirroredStrategy>(std::move(topology), *checked.model, parts);
}

std::string reasons_text(const data::LeftOut& left) {
  std::string text;
  for (const std::string& reason : left.reasons) text += (text.empty() ? ":\n  " : "\n  ") + reason;
  const std::int64_t more = left.count() - std::ssize(left.reasons);
  return more > 0 ? text + fmt::format("\n  and {} more", more) : text;
}

std::string left_out_text(const data::LeftOut& left, LeftOutList list) {
  const auto listed = std::ssize(left.reasons);
  std::string text = left.text();
  if (list == LeftOutList::kLog) {
    return text + (listed < left.count() ? fmt::format("; run.log lists the first {}", listed)
                                         : fmt::format("; run.log lists {}", listed == 1 ? "it" : "them"));
  }
  if (list == LeftOutList::kAll) return text + reasons_text(left);
  constexpr std::ptrdiff_t kShown = 3;
  if (left.count() > kShown) text += "; the first";
  for (std::ptrdiff_t i = 0; i < std::min(kShown, listed); ++i) {
    text += (i == 0 ? ":\n  " : "\n  ") + left.reasons[static_cast<std::size_t>(i)];
  }
  return text;
}

void report_left_out(std::span<const data::Dataset* const> datasets, LeftOutList list) {
  std::set<const data::LeftOut*> reported;  // parts of one source share it
  for (const data::Dataset* const dataset : datasets) {
    const data::LeftOut* const left = dataset->left_out();
    if (left == nullptr || !reported.insert(left).second) continue;
    spdlog::warn("{}", left_out_text(*left, list));
    if (list != LeftOutList::kLog) continue;
    for (const std::string& reason : left->reasons) spdlog::debug("skipped: {}", reason);
  }
}

void report_left_out(const Run& run, LeftOutList list) {
  std::vector<const data::Dataset*> datasets;
  for (const data::Feeder* const feeder : run.examples()) datasets.push_back(&feeder->dataset());
  report_left_out(datasets, list);
}

void warn_of_remarks(const data::Dataset& dataset) {
  for (const std::string& remark : dataset.remarks()) spdlog::warn("{}", remark);
}

Run::Run() = default;
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

const data::Feeder* Run::split(data::Split split) const {
  switch (split) {
    case data::Split::kTrain: return train.get();
    case data::Split::kValidation: return validation.get();
    case data::Split::kTest: return test.get();
  }
  return nullptr;
}

std::vector<const data::Feeder*> Run::examples() const {
  std::vector<const data::Feeder*> all;
  for (const data::Split one : {data::Split::kTrain, data::Split::kValidation, data::Split::kTest}) {
    if (split(one) != nullptr) all.push_back(split(one));
  }
  return all;
}

SplitsToCheck Run::splits() const {
  const auto of = [&](data::Split one) { return split(one) != nullptr ? &split(one)->dataset() : nullptr; };
  return {of(data::Split::kTrain), of(data::Split::kValidation), of(data::Split::kTest), &adapted};
}

const std::string& Run::fingerprint(data::Split one) const {
  const auto [place, is_new] = fingerprints_.try_emplace(one);
  if (is_new) place->second = data::fingerprint(split(one)->dataset());
  return place->second;
}

std::vector<std::string> Run::notes() const {
  std::vector<std::string> notes{classes_note, strategy->note(), shards_note, lengths_note};
  std::erase(notes, "");
  return notes;
}

Run build_run(const CheckedConfiguration& checked, const RunParts& parts, const Hardware& hardware) {
  const data::DataOptions& data = checked.values().data;
  Run run;
  const std::size_t before_data = memory_of_process().own;
  run.watch = make_stall_watch(checked.values(), parts.on_stall);
  BatchSizes sizes;
  if (checked.has_model()) load_feeders(checked, parts, run);
  if (parts.trains && checked.has_model()) {
    set_order(checked, run.train->dataset(), hardware, run);
  } else if (parts.trains) {
    set_order(checked, data::load(data, checked.values().seed, nullptr, data::Split::kTrain, parts.adapted)->dataset,
              hardware, run);
  }
  if (parts.trains) run.classes_note = class_counts_note(checked, run.splits());
  if (parts.on_examples) parts.on_examples(run);
  if (parts.trains) {
    add_batch_sizes(run.order->examples(), data.global_batch_size, data.drop_remainder, sizes.train);
  }
  for (const data::Split split : {data::Split::kTrain, data::Split::kValidation, data::Split::kTest}) {
    const data::Feeder* const feeder = run.split(split);
    if (feeder == nullptr) continue;
    if (parts.evaluates.contains(split)) {
      add_batch_sizes(feeder->rows(), data.global_batch_size, false, sizes.evaluate);
    }
  }
  sizes.data_sets = run.examples();
  return_freed_memory();  // of files as they were read
  run.memory_of_data = std::max(memory_of_process().own, before_data) - before_data;
  run.strategy = make_strategy(checked, parts, hardware);
  run.strategy->prepare(sizes);
  run.memory_of_program = before_data + memory_of_process().files;
  return run;
}

std::vector<SparseGradient> sparse_gradients_of(const CheckedConfiguration& checked, const Topology& topology) {
  return find_sparse_gradients(*checked.model, checked.policies(), host_backend().step_kernels(),
                               checked.values().strategy, topology, checked.values().data.global_batch_size);
}

std::uint64_t gradient_bytes_of(const CheckedConfiguration& checked, const Topology& topology) {
  return reduced_gradient_bytes(*checked.model, checked.policies(), sparse_gradients_of(checked, topology),
                                checked.values().data.global_batch_size);
}

Placement placement_of(const CheckedConfiguration& checked, int servers) {
  const Configuration& values = checked.values();
  std::vector<std::size_t> sparse;
  for (const SparseGradient& table : sparse_gradients_of(checked, one_replica())) sparse.push_back(table.variable);
  Placement placement(*checked.model, values.strategy.partitioner, servers, sparse);
  for (const std::size_t split : placement.split()) {
    const ModelVariable& variable = checked.model->variables[split];
    const std::string what =
        variable.update.clip_norm ? "optimizer.clipnorm"
        : variable.update.reads_whole()
            ? fmt::format("optimizer {}",
                          name_of(values.optimizer->all[static_cast<std::size_t>(variable.update.traits.optimizer)]))
        : variable.constraint ? "its constraint"
                              : "";
    if (what.empty()) continue;
    throw UsageError(
        fmt::format("strategy.partitioner: it would split '{}' into shards, but {} needs the whole "
                    "variable; leave the partitioner out, make its shards larger, or do without",
                    variable.spec.name, what));
  }
  return placement;
}

void set_first_values(const CheckedConfiguration& checked, Strategy& strategy) {
  const Configuration& values = checked.values();
  InitialValues given;
  const bool reads = checked.has_model() && values.model->initial_weights && strategy.topology().is_chief();
  if (reads) given = read_initial_weights(*values.model->initial_weights, strategy);
  std::vector<float> elements;
  // Slots are 0 until they are written, so that most rules need no memory for them here.
  const auto first_slots_of = [&](std::size_t variable) {
    const ModelVariable& one = checked.model->variables[variable];
    return one.spec.trainable ? first_slots(one.update, one.spec.shape) : std::vector<float>();
  };
  bool writes_slots = false;
  for (std::size_t i = 0; i < checked.model->variables.size(); ++i) {
    writes_slots = writes_slots || std::ranges::any_of(first_slots_of(i), [](float first) { return first != 0; });
  }
  const Lasting what = writes_slots ? Lasting::kValues | Lasting::kSlots : Lasting::kValues;
  strategy.write_variables(what, [&](const LastingVariable& variable) {
    const auto set = [&](const DistributedVariable& to) { to.set(std::as_bytes(std::span(elements)).data()); };
    elements.resize(static_cast<std::size_t>(variable.value.shape().elements()));
    checked.model->variables[variable.index].initialize(elements, values.seed);
    if (const auto found = given.find(variable.index); found != given.end()) elements = found->second;
    set(variable.value);
    const std::vector<float> slots = first_slots_of(variable.index);
    for (std::size_t slot = 0; slot < variable.slots.size(); ++slot) {
      elements.assign(static_cast<std::size_t>(variable.slots[slot].shape().elements()), slots.at(slot));
      set(variable.slots[slot]);
    }
  });
}

StepSums evaluate_all(Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size) {
  return evaluate_while([](std::int64_t, std::int64_t) { return true; }, strategy, examples, batch_size).value();
}

std::optional<StepSums> evaluate_while(const std::function<bool(std::int64_t, std::int64_t)>& goes_on,
                                       Strategy& strategy, const data::Feeder& examples, std::int64_t batch_size) {
  const std::int64_t batches = data::batches_of(examples.rows(), batch_size);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(batch_size, examples.rows())));
  StepSums total;
  const auto collect = [&] {
    for (const StepSums& sums : strategy.take_sums()) total += sums;
  };
  for (std::int64_t first = 0; first < examples.rows(); first += batch_size) {
    if (!goes_on(first / batch_size + 1, batches)) {
      collect();
      return std::nullopt;
    }
    rows.resize(static_cast<std::size_t>(std::min(batch_size, examples.rows() - first)));
    std::iota(rows.begin(), rows.end(), first);
    if (examples.reads_ahead() && strategy.topology().cluster.workers == 1) {
      std::vector<std::int64_t> ahead(static_cast<std::size_t>(std::min(3 * batch_size, examples.rows() - first)));
      std::iota(ahead.begin(), ahead.end(), first);
      examples.expect(ahead);
    }
    StepSpec step;
    step.data_set = &examples;
    step.rows = rows;
    strategy.evaluate(step);
    if (strategy.must_take_sums()) collect();
  }
  collect();
  return total;
}

}  // namespace mirrortrain
