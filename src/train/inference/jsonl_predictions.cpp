#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/tables/csv_text.h"
#include "report/json.h"
#include "train/inference/prediction_writers.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

/// Lists nested by the axes of time steps, with null for padding; one value if there are no time steps.
template <class Value>
Json by_step(const OutputMeaning& meaning, const ExampleOutput& output, const Value& value) {
  std::vector<Json> values;
  for (std::int64_t step = 0; step < meaning.predictions(); ++step)
    values.push_back(output.counts(step) ? Json(value(meaning.of_step(output.values, step))) : Json());
  const Shape steps = meaning.steps();
  for (std::size_t axis = steps.rank(); axis-- > 0;) {
    std::vector<Json> lists(values.size() / static_cast<std::size_t>(steps[axis]), Json::array());
    for (std::size_t i = 0; i < values.size(); ++i)
      lists[i / static_cast<std::size_t>(steps[axis])].push_back(std::move(values[i]));
    values = std::move(lists);
  }
  return std::move(values[0]);
}

/// Adds an output's keys: `prediction`, `name`, `probabilities`; of one of several outputs `NAME`, `NAME_name`,
/// `NAME_probabilities`.
void add_output(const OutputMeaning& meaning, const ExampleOutput& output, bool probabilities, Json& line) {
  const auto add = [&](const std::string& name, Json value) {
    if (line.contains(name)) {
      throw UsageError(fmt::format(
          "two keys of a prediction would be named '{}'; write predictions with --output FILE.npz, which has "
          "one array for each output",
          name));
    }
    line[name] = std::move(value);
  };
  const std::string key = meaning.name.empty() ? "prediction" : meaning.name;
  const std::string prefix = meaning.name.empty() ? "" : meaning.name + "_";
  if (!meaning.tells_classes()) {
    return add(key, output.values.size() == 1 ? Json(output.values[0])
                                              : Json(std::vector<float>(output.values.begin(), output.values.end())));
  }
  add(key, by_step(meaning, output, [&](const auto& prediction) {
        return has_nan(prediction) ? Json() : Json(meaning.class_of(prediction));
      }));
  if (!meaning.classes.empty()) {
    add(prefix + "name", by_step(meaning, output, [&](const auto& prediction) {
          return has_nan(prediction) ? Json() : Json(meaning.name_of(meaning.class_of(prediction)));
        }));
  }
  if (probabilities) {
    add(prefix + "probabilities",
        by_step(meaning, output, [&](const auto& prediction) { return meaning.class_probabilities(prediction); }));
  }
}

/// A cell: a number, which is whole where it can be, null where it is missing; else its text.
Json cell(const std::string& text, bool is_number) {
  if (!is_number) return text;
  if (text.empty()) return {};
  const std::optional<double> number = data::number_in(text);
  if (!number) return text;
  constexpr double kLargestWhole = 9007199254740992;  // 2^53
  const bool is_whole = std::floor(*number) == *number && std::abs(*number) <= kLargestWhole;
  return is_whole ? Json(static_cast<std::int64_t>(*number)) : Json(*number);
}

class JsonlPredictions : public PredictionWriter {
 public:
  JsonlPredictions(const PredictionOutput& output, const Meanings& meanings)
      : sink_(output.file),
        meanings_(meanings),
        probabilities_(output.probabilities),
        extra_columns_(output.extra_columns),
        extra_numbers_(output.extra_numbers) {
    extra_numbers_.resize(extra_columns_.size());
  }

  void write(std::int64_t index, std::span<const ExampleOutput> outputs, const std::string& file,
             std::span<const std::string> extra) override {
    Json line = {{"index", index}};
    for (std::size_t i = 0; i < outputs.size(); ++i) add_output(meanings_[i], outputs[i], probabilities_, line);
    if (!file.empty()) line["file"] = file;
    for (std::size_t i = 0; i < extra.size(); ++i) {
      const Json value = cell(extra[i], extra_numbers_[i]);
      if (line.contains(extra_columns_[i]) && line[extra_columns_[i]] != value) {
        throw UsageError(
            fmt::format("--keep {0}: '{0}' is a key of the predictions themselves; give the table's column "
                        "another name, or write .csv",
                        extra_columns_[i]));
      }
      line[extra_columns_[i]] = value;
    }
    sink_.write(report::json_line(line) + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
  PredictionSink sink_;
  const Meanings& meanings_;
  bool probabilities_;
  std::vector<std::string> extra_columns_;
  std::vector<bool> extra_numbers_;
};

}  // namespace

std::unique_ptr<PredictionWriter> jsonl_predictions(const PredictionOutput& output, const Meanings& meanings) {
  return std::make_unique<JsonlPredictions>(output, meanings);
}

}  // namespace mirrortrain
