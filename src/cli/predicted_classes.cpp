#include "cli/predicted_classes.h"

#include "data/feeding/label_class.h"
#include "train/inference/predict.h"

namespace mirrortrain::cli {

void predict_classes(
    const CheckedConfiguration& checked, const OutputMeaning& meaning, const data::Dataset& dataset,
    const data::Adapted& adapted, const std::function<void(const VariableStore& variables)>& load_weights,
    const std::function<void(std::int64_t row, std::int64_t label, std::span<const float> prediction)>& take) {
  const Run run = run_to_predict(checked, dataset, adapted);
  load_weights(run.strategy->variables());
  run.strategy->variables_changed();
  const std::int64_t steps = meaning.predictions();
  predict_all(run, [&](std::int64_t row, const ExampleOutput& output) {
    const std::vector<std::int64_t> labels = data::classes_of(*run.test, row, steps);
    for (std::int64_t step = 0; step < steps; ++step) {
      if (!output.counts(step)) continue;
      take(row, labels[static_cast<std::size_t>(step)], meaning.of_step(output.values, step));
    }
  });
}

}  // namespace mirrortrain::cli
