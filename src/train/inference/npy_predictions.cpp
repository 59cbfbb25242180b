#include <fmt/format.h>

#include "base/error.h"
#include "train/inference/prediction_writers.h"

namespace mirrortrain {
namespace {

/// The raw outputs, float32 [rows, ...]; with `probabilities`, the probabilities instead.
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

  void write(std::int64_t, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string>) override {
    const std::span<const float> values = outputs.front().values;
    if (!probabilities_) return write(values);
    write(meaning_.probabilities(values));
  }
  void finish() override { sink_.finish(); }

 private:
  void write(std::span<const float> values) {
    sink_.write(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }
  PredictionSink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
};

}  // namespace

std::unique_ptr<PredictionWriter> npy_predictions(const PredictionOutput& output, const Meanings& meanings) {
  if (meanings.size() > 1) {
    throw UsageError(fmt::format("--output {}: an .npy file holds one array, and the model has {} outputs; write .csv "
                                 "or .jsonl",
                                 output.file ? output.file->string() : "", meanings.size()));
  }
  return std::make_unique<NpyPredictions>(output, meanings.front());
}

}  // namespace mirrortrain
