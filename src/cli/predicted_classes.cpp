#include "cli/predicted_classes.h"

#include "data/feeding/label_class.h"
#include "train/inference/predict.h"

namespace mirrortrain::cli {

void predict_classes(const CheckedConfiguration& checked, const std::vector<OutputMeaning>& meanings,
                     const data::Dataset& dataset, const data::Adapted& adapted,
                     const std::function<void(const VariableStore& variables)>& load_weights,
                     const std::function<void(std::size_t output, std::int64_t row, std::int64_t label,
                                              std::span<const float> prediction)>& take) {
  const Run run = run_to_predict(checked, dataset, adapted);
  load_weights(run.strategy->variables());
  run.strategy->variables_changed();
  predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputMeaning& meaning = meanings[i];
      if (!meaning.tells_classes() || !dataset.outputs()[i].is_present(dataset.first_row() + row)) continue;
      const std::int64_t steps = meaning.predictions();
      const std::vector<std::int64_t> labels = data::classes_of(*run.test, i, row, steps);
      for (std::int64_t step = 0; step < steps; ++step) {
        if (!outputs[i].counts(step)) continue;
        take(i, row, labels[static_cast<std::size_t>(step)], meaning.of_step(outputs[i].values, step));
      }
    }
  });
}

}  // namespace mirrortrain::cli
