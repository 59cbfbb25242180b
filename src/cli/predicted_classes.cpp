#include "cli/predicted_classes.h"

#include "data/label_class.h"
#include "train/predict.h"

namespace mirrortrain::cli {

void predict_classes(
    const CheckedConfiguration& checked, const data::Dataset& dataset, const data::Adapted& adapted,
    const std::function<void(const VariableStore& variables)>& load_weights,
    const std::function<void(std::int64_t row, std::int64_t label, std::span<const float> output)>& take) {
  const Run run = run_to_predict(checked, dataset, adapted);
  load_weights(run.strategy->variables());
  run.strategy->variables_changed();
  const std::int64_t elements = checked.model->evaluation.graph.spec(checked.model->evaluation.output).shape.elements();
  const auto width = static_cast<std::size_t>(elements);
  predict_all(run, elements, [&](std::int64_t first, std::span<const float> outputs) {
    for (std::size_t i = 0; i < outputs.size() / width; ++i) {
      const std::int64_t row = first + static_cast<std::int64_t>(i);
      take(row, data::class_of(dataset, row), outputs.subspan(i * width, width));
    }
  });
}

}  // namespace mirrortrain::cli
