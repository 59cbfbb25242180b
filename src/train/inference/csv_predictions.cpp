#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/csv_cell.h"
#include "base/error.h"
#include "report/format.h"
#include "train/inference/prediction_writers.h"
#include "train/inference/value_names.h"

namespace mirrortrain {
namespace {

/// `values` with preceding commas; NaN as "nan", whatever its sign.
std::string csv_cells(std::span<const float> values) {
  std::string cells;
  for (const float value : values) cells += "," + report::float_text(value);
  return cells;
}

/// With preceding commas.
std::string texts(std::span<const std::string> extra) {
  std::string cells;
  for (const std::string& text : extra) cells += "," + csv_cell(text);
  return cells;
}

/// The columns of an output: `prediction`, `name`, `probability_0`, `output_0`; of one of several outputs `NAME`,
/// `NAME_name`, `NAME_probability_0`, `NAME_0`.
class OutputColumns {
 public:
  OutputColumns(const OutputMeaning& meaning, bool probabilities)
      : meaning_(meaning),
        probabilities_(probabilities),
        prediction_(name_of_value(meaning.name, "prediction")),
        name_(name_beside(meaning.name, "name")),
        probability_(name_beside(meaning.name, "probability")),
        number_(name_of_value(meaning.name, "output")) {}

  std::vector<std::string> names() const { return meaning_.tells_classes() ? names_of_classes() : names_of_numbers(); }
  /// With preceding commas.
  std::string cells(const ExampleOutput& output) const {
    return meaning_.tells_classes() ? classes(output) : numbers(output.values);
  }

 private:
  /// The classes whose probabilities also get a column by name, in addition to the one by number, unless a name is that
  /// of such a column.
  std::span<const std::string> named_classes() const {
    const std::int64_t count = meaning_.number_of_classes();
    bool have_names = probabilities_ && std::ssize(meaning_.classes) == count;
    for (std::int64_t i = 0; i < count && have_names; ++i) {
      have_names = std::ranges::count(meaning_.classes, std::to_string(i)) == 0;
    }
    return have_names ? std::span<const std::string>(meaning_.classes) : std::span<const std::string>();
  }
  /// A single number is the prediction; it is listed as an output, too, where probabilities are wanted.
  bool lists_outputs() const { return meaning_.elements() != 1 || (probabilities_ && meaning_.name.empty()); }
  /// Of several labels, say.
  bool lists_probabilities_of_numbers() const { return probabilities_ && meaning_.is_logits; }

  std::vector<std::string> names_of_numbers() const {
    std::vector<std::string> columns;
    if (meaning_.elements() == 1) columns.push_back(prediction_);
    for (std::int64_t i = 0; i < meaning_.elements() && lists_outputs(); ++i)
      columns.push_back(fmt::format("{}_{}", number_, i));
    for (std::int64_t i = 0; i < meaning_.elements() && lists_probabilities_of_numbers(); ++i)
      columns.push_back(fmt::format("{}_{}", probability_, i));
    return columns;
  }
  std::string numbers(std::span<const float> output) const {
    return (output.size() == 1 ? csv_cells(output) : "") + (lists_outputs() ? csv_cells(output) : "") +
           (lists_probabilities_of_numbers() ? csv_cells(meaning_.probabilities(output)) : "");
  }

  std::vector<std::string> names_of_classes() const {
    std::vector<std::string> columns, names, probabilities;
    for (const std::string& step : index_suffixes(meaning_.steps())) {
      columns.push_back(prediction_ + step);
      if (!meaning_.classes.empty()) names.push_back(name_ + step);
      for (std::int64_t i = 0; i < meaning_.number_of_classes() && probabilities_; ++i)
        probabilities.push_back(fmt::format("{}{}_{}", probability_, step, i));
      for (const std::string& name : named_classes()) probabilities.push_back(probability_ + step + "_" + name);
    }
    columns.insert(columns.end(), names.begin(), names.end());
    columns.insert(columns.end(), probabilities.begin(), probabilities.end());
    return columns;
  }
  /// Cells are empty for padding, and NaN has no class.
  std::string classes(const ExampleOutput& output) const {
    std::string cells, names, probabilities;
    for (std::int64_t step = 0; step < meaning_.predictions(); ++step) {
      const auto prediction = meaning_.of_step(output.values, step);
      const bool counts = output.counts(step), has_class = counts && !has_nan(prediction);
      const std::int64_t predicted = meaning_.class_of(prediction);
      cells += has_class ? fmt::format(",{}", predicted) : ",";
      if (!meaning_.classes.empty()) names += has_class ? "," + csv_cell(meaning_.name_of(predicted)) : ",";
      if (!probabilities_) continue;
      const std::string of_step = counts ? csv_cells(meaning_.class_probabilities(prediction))
                                         : std::string(static_cast<std::size_t>(meaning_.number_of_classes()), ',');
      probabilities += of_step + (named_classes().empty() ? "" : of_step);
    }
    return cells + names + probabilities;
  }

  const OutputMeaning& meaning_;
  bool probabilities_;
  std::string prediction_, name_, probability_, number_;
};

class CsvPredictions : public PredictionWriter {
 public:
  CsvPredictions(const PredictionOutput& output, const Meanings& meanings) : sink_(output.file) {
    std::vector<std::string> names{"index"};
    for (const OutputMeaning& meaning : meanings) {
      columns_.emplace_back(meaning, output.probabilities);
      for (std::string& name : columns_.back().names()) names.push_back(std::move(name));
    }
    require_distinct_names(names, output, "column");
    sink_.write(names.front() + texts(std::span(names).subspan(1)) + texts(output.extra_columns) + "\n");
  }

  void write(std::int64_t index, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string> extra) override {
    std::string line = std::to_string(index);
    for (std::size_t i = 0; i < outputs.size(); ++i) line += columns_[i].cells(outputs[i]);
    sink_.write(line + texts(extra) + "\n");
  }
  void finish() override { sink_.finish(); }
  void flush() override { sink_.flush(); }

 private:
  PredictionSink sink_;
  std::vector<OutputColumns> columns_;
};

}  // namespace

std::unique_ptr<PredictionWriter> csv_predictions(const PredictionOutput& output, const Meanings& meanings) {
  return std::make_unique<CsvPredictions>(output, meanings);
}

}  // namespace mirrortrain
