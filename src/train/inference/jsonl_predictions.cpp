#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "report/json.h"
#include "train/inference/prediction_writers.h"

namespace mirrortrain {
namespace {

class JsonlPredictions : public PredictionWriter {
 public:
  JsonlPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file),
        meaning_(meaning),
        probabilities_(output.probabilities),
        extra_columns_(output.extra_columns) {}

  void write(std::int64_t index, const ExampleOutput& output, const std::string& file,
             std::span<const std::string> extra) override {
    Json line = {{"index", index}};
    if (meaning_.tells_classes()) {
      line["prediction"] = by_step(output, [&](const auto& prediction) {
        return has_nan(prediction) ? Json() : Json(meaning_.class_of(prediction));
      });
      if (!meaning_.classes.empty()) {
        line["name"] = by_step(output, [&](const auto& prediction) {
          return has_nan(prediction) ? Json() : Json(meaning_.name_of(meaning_.class_of(prediction)));
        });
      }
      if (probabilities_) {
        line["probabilities"] =
            by_step(output, [&](const auto& prediction) { return meaning_.class_probabilities(prediction); });
      }
    } else if (output.values.size() == 1) {
      line["prediction"] = output.values[0];
    } else {
      line["prediction"] = std::vector<float>(output.values.begin(), output.values.end());
    }
    if (!file.empty()) line["file"] = file;
    for (std::size_t i = 0; i < extra.size(); ++i) {
      if (line.contains(extra_columns_[i]) && line[extra_columns_[i]] != extra[i]) {
        throw UsageError(
            fmt::format("--keep {0}: '{0}' is a key of the predictions themselves; give the table's column "
                        "another name, or write .csv",
                        extra_columns_[i]));
      }
      line[extra_columns_[i]] = extra[i];
    }
    sink_.write(report::json_line(line) + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
  using Json = nlohmann::ordered_json;

  /// Lists nested by the axes of time steps, with null for padding; one value if there are no time steps.
  template <class Value>
  Json by_step(const ExampleOutput& output, const Value& value) const {
    std::vector<Json> values;
    for (std::int64_t step = 0; step < meaning_.predictions(); ++step)
      values.push_back(output.counts(step) ? Json(value(meaning_.of_step(output.values, step))) : Json());
    const Shape steps = meaning_.steps();
    for (std::size_t axis = steps.rank(); axis-- > 0;) {
      std::vector<Json> lists(values.size() / static_cast<std::size_t>(steps[axis]), Json::array());
      for (std::size_t i = 0; i < values.size(); ++i)
        lists[i / static_cast<std::size_t>(steps[axis])].push_back(std::move(values[i]));
      values = std::move(lists);
    }
    return std::move(values[0]);
  }

  PredictionSink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
  std::vector<std::string> extra_columns_;
};

}  // namespace

std::unique_ptr<PredictionWriter> jsonl_predictions(const PredictionOutput& output, const OutputMeaning& meaning) {
  return std::make_unique<JsonlPredictions>(output, meaning);
}

}  // namespace mirrortrain
