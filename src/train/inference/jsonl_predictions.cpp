#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/tables/csv_text.h"
#include "report/json.h"
#include "train/inference/prediction_writers.h"
#include "train/inference/value_names.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFileKey = "file";

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

/// The keys of an output: `prediction`, `name`, `probabilities`; of one of several outputs `NAME`, `NAME_name`,
/// `NAME_probabilities`.
struct OutputKeys {
  explicit OutputKeys(const std::string& output)
      : prediction(name_of_value(output, "prediction")),
        name(name_beside(output, "name")),
        probabilities(name_beside(output, "probabilities")) {}

  std::string prediction, name, probabilities;
};

void add_output(const OutputMeaning& meaning, const ExampleOutput& output, bool probabilities, Json& line) {
  const OutputKeys keys(meaning.name);
  if (!meaning.tells_classes()) {
    line[keys.prediction] = output.values.size() == 1
                                ? Json(output.values[0])
                                : Json(std::vector<float>(output.values.begin(), output.values.end()));
    if (probabilities && meaning.is_logits) line[keys.probabilities] = meaning.probabilities(output.values);
    return;
  }
  line[keys.prediction] = by_step(meaning, output, [&](const auto& prediction) {
    return has_nan(prediction) ? Json() : Json(meaning.class_of(prediction));
  });
  if (!meaning.classes.empty()) {
    line[keys.name] = by_step(meaning, output, [&](const auto& prediction) {
      return has_nan(prediction) ? Json() : Json(meaning.name_of(meaning.class_of(prediction)));
    });
  }
  if (probabilities) {
    line[keys.probabilities] =
        by_step(meaning, output, [&](const auto& prediction) { return meaning.class_probabilities(prediction); });
  }
}

/// The keys of a line, without those of extra columns.
std::vector<std::string> keys_of(const PredictionOutput& output, const Meanings& meanings) {
  std::vector<std::string> keys{"index"};
  for (const OutputMeaning& meaning : meanings) {
    const OutputKeys own(meaning.name);
    keys.push_back(own.prediction);
    if (meaning.tells_classes() && !meaning.classes.empty()) keys.push_back(own.name);
    if (meaning.has_probabilities() && output.probabilities) keys.push_back(own.probabilities);
  }
  // A line names the example's file once, also where it is kept.
  if (output.of_files && std::ranges::count(output.extra_columns, kFileKey) == 0) keys.emplace_back(kFileKey);
  return keys;
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
        kept_columns_(output.kept_columns),
        is_kept_json_(output.is_kept_json),
        extra_numbers_(output.extra_numbers) {
    require_distinct_names(keys_of(output, meanings), output, "key");
    extra_numbers_.resize(extra_columns_.size());
  }

  void write(std::int64_t index, std::span<const ExampleOutput> outputs, const std::string& file,
             std::span<const std::string> extra) override {
    Json line = {{"index", index}};
    for (std::size_t i = 0; i < outputs.size(); ++i) add_output(meanings_[i], outputs[i], probabilities_, line);
    if (!file.empty()) line[kFileKey] = file;
    for (std::size_t i = 0; i < extra.size(); ++i) {
      if (is_kept_json_ && i < kept_columns_) {
        line[extra_columns_[i]] = extra[i].empty() ? Json() : parse_json<Json>(extra[i]);
        continue;
      }
      const bool lacks_label = i >= kept_columns_ && extra[i].empty();
      line[extra_columns_[i]] = lacks_label ? Json() : cell(extra[i], extra_numbers_[i]);
    }
    sink_.write(report::json_line(line) + "\n");
  }
  void finish() override { sink_.finish(); }
  void flush() override { sink_.flush(); }

 private:
  PredictionSink sink_;
  const Meanings& meanings_;
  bool probabilities_;
  std::vector<std::string> extra_columns_;
  std::size_t kept_columns_;  ///< the first ones; the others are labels
  bool is_kept_json_;
  std::vector<bool> extra_numbers_;
};

}  // namespace

std::unique_ptr<PredictionWriter> jsonl_predictions(const PredictionOutput& output, const Meanings& meanings) {
  return std::make_unique<JsonlPredictions>(output, meanings);
}

}  // namespace mirrortrain
