#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "report/format.h"
#include "report/json.h"
#include "train/prediction.h"

namespace mirrortrain {
namespace {

using Kind = OutputMeaning::Kind;

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
    if (std::fflush(stdout) != 0) throw Error("stdout: cannot write the predictions");
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  void flush() {
    if (file_) {
      file_->write(block_);
    } else if (std::fwrite(block_.data(), 1, block_.size(), stdout) != block_.size()) {
      throw Error("stdout: cannot write the predictions");
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

class CsvPredictions : public PredictionWriter {
 public:
  CsvPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {
    const bool is_one_number = meaning.elements() == 1;
    std::string header = "index";
    if (meaning.kind != Kind::kNumbers || is_one_number) header += ",prediction";
    if (!meaning.classes.empty() && meaning.kind != Kind::kNumbers) header += ",name";
    const bool lists_outputs = meaning.kind == Kind::kNumbers && (probabilities_ || !is_one_number);
    const bool lists_classes = meaning.kind != Kind::kNumbers && probabilities_;
    const std::int64_t values = meaning.kind == Kind::kYesOrNo ? 2 : meaning.elements();
    for (std::int64_t i = 0; i < values && (lists_outputs || lists_classes); ++i)
      header += fmt::format(",{}_{}", lists_classes ? "probability" : "output", i);
    lists_outputs_ = lists_outputs;
    sink_.write(header + "\n");
  }

  void write(std::int64_t index, std::span<const float> output, const std::string&) override {
    std::string line = std::to_string(index);
    if (meaning_.kind != Kind::kNumbers) {
      const std::int64_t predicted = meaning_.class_of(output);
      line += fmt::format(",{}", predicted);
      if (!meaning_.classes.empty()) line += fmt::format(",{}", csv_cell(meaning_.name_of(predicted)));
      if (probabilities_) {
        const std::vector<float> values = meaning_.probabilities(output);
        if (meaning_.kind == Kind::kYesOrNo) line += csv_cells(std::array{1 - values[0]});
        line += csv_cells(values);
      }
    } else {
      if (output.size() == 1) line += csv_cells(output);
      if (lists_outputs_) line += csv_cells(output);
    }
    sink_.write(line + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
  Sink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_, lists_outputs_ = false;
};

class JsonlPredictions : public PredictionWriter {
 public:
  JsonlPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {}

  void write(std::int64_t index, std::span<const float> output, const std::string& file) override {
    nlohmann::ordered_json line = {{"index", index}};
    if (meaning_.kind != Kind::kNumbers) {
      const std::int64_t predicted = meaning_.class_of(output);
      line["prediction"] = predicted;
      if (!meaning_.classes.empty()) line["name"] = meaning_.name_of(predicted);
      if (probabilities_) {
        std::vector<float> values = meaning_.probabilities(output);
        if (meaning_.kind == Kind::kYesOrNo) values.insert(values.begin(), 1 - values[0]);
        line["probabilities"] = values;
      }
    } else if (output.size() == 1) {
      line["prediction"] = output[0];
    } else {
      line["prediction"] = std::vector<float>(output.begin(), output.end());
    }
    if (!file.empty()) line["file"] = file;
    sink_.write(report::json_line(line) + "\n");
  }
  void finish() override { sink_.finish(); }

 private:
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

  void write(std::int64_t, std::span<const float> output, const std::string&) override {
    if (!probabilities_) return write(output);
    write(meaning_.probabilities(output));
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
