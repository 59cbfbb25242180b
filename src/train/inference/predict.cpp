#include "train/inference/predict.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "data/feeding/label_class.h"
#include "train/session/run_cluster.h"
#include "train/session/run_data.h"
#include "train/session/run_strategy.h"

namespace mirrortrain {
namespace {

StrategyOptions strategy_to_predict(StrategyOptions options, bool one_replica, bool is_shared) {
  if (options.declaration().on_cluster) {
    if (!is_shared) options.type = kReplicasInProcess;
    if (options.mesh) options.mesh->data = AutoSize::kAuto;  // that of the whole run is for all of its workers
  }
  options.threads_per_replica = 1;  // kernels may split a sum over threads
  if (!one_replica) return options;
  options.type = kSingleReplica;
  options.replicas.reset();
  options.cpu_replicas.reset();
  if (auto* const listed = std::get_if<std::vector<DeviceId>>(&options.devices)) listed->resize(1);
  return options;
}

/// `are_ready`: the examples are as the model takes them.
std::unique_ptr<data::Feeder> feeder_of(Run& run, const CheckedConfiguration& checked, const data::Dataset& dataset,
                                        bool are_ready = false) {
  data::FeederOptions feeding = feeder_options(checked.values());
  feeding.watch = run.watch.get();
  feeding.bucket_boundaries.clear();  // outputs have all time steps
  std::vector<data::PreprocessingStep> preprocessing;
  if (!are_ready) preprocessing = adapted_preprocessing(checked, run.adapted);
  return std::make_unique<data::Feeder>(dataset, preprocessing, checked.examples, feeding);
}

}  // namespace

CheckedConfiguration& fed_by_host(CheckedConfiguration& checked) {
  checked.read.values.data.cache = data::Cache::kHost;
  return checked;
}

Run run_to_predict(const CheckedConfiguration& checked, const data::Dataset& dataset, data::Adapted adapted,
                   const PredictOptions& predicting) {
  Run run;
  run.adapted = std::move(adapted);
  run.watch = make_stall_watch(checked.values());
  run.test = data::at_its_place(predicting.key, [&] { return feeder_of(run, checked, dataset, predicting.are_ready); });
  const bool is_shared = predicting.cluster != nullptr;
  run.strategy = make_strategy(
      checked,
      {.trains = false, .strategy = strategy_to_predict(checked.values().strategy, predicting.one_replica, is_shared)},
      is_shared ? predicting.cluster->hardware() : this_hardware());
  BatchSizes sizes;
  sizes.evaluate = predicting.other_batches;
  sizes.evaluate.push_back(predicting.rows * run.strategy->num_replicas_in_sync());
  sizes.data_sets = run.examples();
  sizes.predicts = true;
  run.strategy->prepare(sizes);
  return run;
}

void replace_examples(Run& run, const CheckedConfiguration& checked, const data::Dataset& dataset) {
  auto now = feeder_of(run, checked, dataset);
  run.strategy->replace_data_set(*run.test, *now);
  run.test = std::move(now);
}

/// Kernels may add in another order for another number of rows, and for a row at another place among them: so every
/// replica always gets the same number, with each example at the place that it has among all, and other places padded
/// with row 0.
void predict_all(const Run& run,
                 const std::function<void(std::int64_t row, std::span<const ExampleOutput> outputs)>& take,
                 std::int64_t before) {
  const data::Feeder& examples = *run.test;
  const std::int64_t batch = kPredictedRows * run.strategy->num_replicas_in_sync();
  struct OfBatch {
    std::size_t elements, steps;  ///< of an example: of the output, and of its mask
    std::vector<float> values, mask;
  };
  std::vector<OfBatch> outputs;
  for (const PredictedShapes& shapes : run.strategy->predicted_shapes()) {
    const auto elements = static_cast<std::size_t>(shapes.output.elements());
    const auto steps = static_cast<std::size_t>(shapes.mask ? shapes.mask->elements() : 0);
    const auto rows = static_cast<std::size_t>(batch);
    outputs.push_back({elements, steps, std::vector<float>(rows * elements), std::vector<float>(rows * steps)});
  }
  std::vector<PredictedOutput> written;
  for (OfBatch& output : outputs) written.push_back({output.values, output.mask});
  std::vector<ExampleOutput> of_example(outputs.size());
  std::vector<std::int64_t> rows(static_cast<std::size_t>(batch));
  for (std::int64_t first = -(before % batch); first < examples.rows(); first += batch) {
    const std::int64_t begin = std::max<std::int64_t>(first, 0), end = std::min(first + batch, examples.rows());
    for (std::int64_t i = 0; i < batch; ++i) {
      rows[static_cast<std::size_t>(i)] = first + i >= begin && first + i < end ? first + i : 0;
    }
    expect_batches(*run.strategy, examples, begin, batch);
    StepSpec step;
    step.data_set = &examples;
    step.rows = rows;
    run.strategy->predict(step, written);
    for (std::int64_t row = begin; row < end; ++row) {
      const auto place = static_cast<std::size_t>(row - first);
      for (std::size_t j = 0; j < outputs.size(); ++j) {
        const OfBatch& output = outputs[j];
        of_example[j] = {std::span(output.values).subspan(place * output.elements, output.elements),
                         std::span(output.mask).subspan(place * output.steps, output.steps)};
      }
      take(row, of_example);
    }
  }
}

void predict_labelled(const CheckedConfiguration& checked, const std::vector<OutputMeaning>& meanings,
                      const data::Dataset& dataset, const data::Adapted& adapted,
                      const std::function<void(Strategy& strategy)>& load_weights,
                      const std::function<void(std::size_t output, std::int64_t row, std::int64_t label,
                                               std::span<const float> prediction)>& take,
                      const std::function<void(std::size_t output, std::span<const double> labels,
                                               std::span<const float> prediction)>& take_numbers) {
  const Run run = run_to_predict(checked, dataset, adapted);
  load_weights(*run.strategy);
  predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputMeaning& meaning = meanings[i];
      if (!dataset.outputs()[i].is_present(dataset.first_row() + row)) continue;
      if (!meaning.tells_classes()) {
        if (take_numbers) take_numbers(i, data::numbers_of(*run.test, i, row), outputs[i].values);
        continue;
      }
      const std::int64_t steps = meaning.predictions();
      const std::vector<std::int64_t> labels = data::classes_of(*run.test, i, row, steps);
      for (std::int64_t step = 0; step < steps; ++step) {
        if (!outputs[i].counts(step)) continue;
        take(i, row, labels[static_cast<std::size_t>(step)], meaning.of_step(outputs[i].values, step));
      }
    }
  });
}

}  // namespace mirrortrain
