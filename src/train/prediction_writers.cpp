#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "report/format.h"
#include "report/json.h"
#include "train/prediction.h"

namespace mirrortrain {
namespace {

/// Text or bytes to a file or stdout, in blocks.
class Sink {
 public:
  explicit Sink(const std::optional<std::filesystem::path>& file) {
    if (file) file_.emplace(*file);
  }
  void write(std::string_view text) {
    block_ += text;
    if (block_.size() >= kBlock) flush();
  }
  void finish() {
    flush();
    if (file_) return file_->commit();
    if (std::fflush(stdout) != 0)
      throw Error(fmt::format("stdout: cannot write the predictions: {}", std::generic_category().message(errno)));
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  void flush() {
    if (file_) {
      file_->write(block_);
    } else if (std::fwrite(block_.data(), 1, block_.size(), stdout) != block_.size()) {
      throw Error(fmt::format("stdout: cannot write the predictions: {}", std::generic_category().message(errno)));
    }
    block_.clear();
  }
  std::optional<AtomicFile> file_;
  std::string block_;
};

/// A cell of a CSV file, in quotes where it needs them.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// `values` with commas before them; NaN as "nan", whatever its sign.
std::string csv_cells(std::span<const float> values) {
  std::string cells;
  for (const float value : values) cells += "," + report::float_text(value);
  return cells;
}

/// What the names of a prediction's columns end with: nothing where an example has one, else the indices of its step.
std::vector<std::string> step_suffixes(const Shape& steps) {
  std::vector<std::string> suffixes{""};
  for (const std::int64_t extent : steps) {
    std::vector<std::string> longer;
    for (const std::string& suffix : suffixes) {
      for (std::int64_t i = 0; i < extent; ++i) longer.push_back(fmt::format("{}_{}", suffix, i));
    }
    suffixes = std::move(longer);
  }
  return suffixes;
}

class CsvPredictions : public PredictionWriter {
 public:
  CsvPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {
    sink_.write("index" + (meaning.tells_classes() ? columns_of_classes() : columns_of_numbers()) + "\n");
  }

  void write(std::int64_t index, const ExampleOutput& output, const std::string&) override {
    sink_.write(std::to_string(index) + (meaning_.tells_classes() ? classes(output) : numbers(output.values)) + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
  bool lists_outputs() const { return probabilities_ || meaning_.elements() != 1; }

  std::string columns_of_numbers() const {
    std::string columns = meaning_.elements() == 1 ? ",prediction" : "";
    for (std::int64_t i = 0; i < meaning_.elements() && lists_outputs(); ++i) columns += fmt::format(",output_{}", i);
    return columns;
  }
  std::string numbers(std::span<const float> output) const {
    return (output.size() == 1 ? csv_cells(output) : "") + (lists_outputs() ? csv_cells(output) : "");
  }

  std::string columns_of_classes() const {
    std::string columns, names, probabilities;
    for (const std::string& step : step_suffixes(meaning_.steps())) {
      columns += ",prediction" + step;
      if (!meaning_.classes.empty()) names += ",name" + step;
      for (std::int64_t i = 0; i < meaning_.number_of_classes() && probabilities_; ++i)
        probabilities += fmt::format(",probability{}_{}", step, i);
    }
    return columns + names + probabilities;
  }
  /// Padding has cells with nothing in them.
  std::string classes(const ExampleOutput& output) const {
    std::string cells, names, probabilities;
    for (std::int64_t step = 0; step < meaning_.predictions(); ++step) {
      const auto prediction = meaning_.of_step(output.values, step);
      const bool counts = output.counts(step);
      const std::int64_t predicted = meaning_.class_of(prediction);
      cells += counts ? fmt::format(",{}", predicted) : ",";
      if (!meaning_.classes.empty()) names += counts ? "," + csv_cell(meaning_.name_of(predicted)) : ",";
      if (!probabilities_) continue;
      probabilities += counts ? csv_cells(meaning_.class_probabilities(prediction))
                              : std::string(static_cast<std::size_t>(meaning_.number_of_classes()), ',');
    }
    return cells + names + probabilities;
  }

  Sink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
};

class JsonlPredictions : public PredictionWriter {
 public:
  JsonlPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {}

  void write(std::int64_t index, const ExampleOutput& output, const std::string& file) override {
    Json line = {{"index", index}};
    if (meaning_.tells_classes()) {
      line["prediction"] = by_step(output, [&](const auto& prediction) { return meaning_.class_of(prediction); });
      if (!meaning_.classes.empty()) {
        line["name"] =
            by_step(output, [&](const auto& prediction) { return meaning_.name_of(meaning_.class_of(prediction)); });
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
    sink_.write(report::json_line(line) + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
  using Json = nlohmann::ordered_json;

  /// A list in a list for each axis of steps, with null for padding; one value where there are no steps.
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

  Sink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
};

/// The raw outputs, float32 [rows, ...]; with `probabilities` what they stand for.
class NpyPredictions : public PredictionWriter {
 public:
  NpyPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {
    std::string shape = std::to_string(output.rows) + ",";
    for (const std::int64_t dim : meaning.shape) shape += fmt::format(" {},", dim);
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
    header.append(64 - (10 + header.size() + 1) % 64, ' ');
    header += '\n';
    const char length[] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    sink_.write(std::string_view("\x93NUMPY\x01\0", 8));
    sink_.write(std::string_view(length, 2));
    sink_.write(header);
  }

  void write(std::int64_t, const ExampleOutput& output, const std::string&) override {
    if (!probabilities_) return write(output.values);
    write(meaning_.probabilities(output.values));
  }
  void finish() override { sink_.finish(); }

 private:
  void write(std::span<const float> values) {
    sink_.write(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }
  Sink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output, const OutputMeaning& meaning) {
  switch (output.format) {
    case PredictionFormat::kJsonl: return std::make_unique<JsonlPredictions>(output, meaning);
    case PredictionFormat::kNpy: return std::make_unique<NpyPredictions>(output, meaning);
    case PredictionFormat::kCsv: break;
  }
  return std::make_unique<CsvPredictions>(output, meaning);
}

}  // namespace mirrortrain
