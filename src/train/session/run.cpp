#include "train/session/run.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/process_memory.h"
#include "data/fingerprint.h"
#include "data/loading/load.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/session/check_data.h"
#include "train/session/run_data.h"
#include "train/session/run_strategy.h"
#include "train/warnings/class_counts.h"

namespace mirrortrain {
namespace {

/// Adds the sizes of the global batches into which the examples are divided.
void add_batch_sizes(std::int64_t examples, std::int64_t batch_size, bool drop_remainder,
                     std::vector<std::int64_t>& sizes) {
  if (examples >= batch_size) sizes.push_back(batch_size);
  if (examples % batch_size > 0 && !drop_remainder) sizes.push_back(examples % batch_size);
}

}  // namespace

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

namespace {

/// The weights that model.initial_weights names; errors have its place.
InitialValues given_weights(const CheckedConfiguration& checked, Strategy& strategy) {
  constexpr const char* kKey = "model.initial_weights";
  try {
    return read_initial_weights(*checked.values().model->initial_weights, strategy);
  } catch (const Error& error) {
    config::Errors errors;
    errors.add(checked.place_of(kKey), kKey, error.what());
    throw_data_errors(errors);
    throw;
  }
}

}  // namespace

void set_first_values(const CheckedConfiguration& checked, Strategy& strategy) {
  const Configuration& values = checked.values();
  InitialValues given;
  const bool reads = checked.has_model() && values.model->initial_weights && strategy.topology().is_chief();
  if (reads) given = given_weights(checked, strategy);
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

void expect_batches(const Strategy& strategy, const data::Feeder& examples, std::int64_t first,
                    std::int64_t batch_size) {
  if (!examples.reads_ahead() || strategy.topology().cluster.workers > 1) return;
  constexpr std::int64_t kBatches = 3;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kBatches * batch_size, examples.rows() - first)));
  std::iota(rows.begin(), rows.end(), first);
  examples.expect(rows);
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
    expect_batches(strategy, examples, first, batch_size);
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
