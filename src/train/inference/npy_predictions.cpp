#include <fmt/format.h>

#include "base/error.h"
#include "data/files/zip_writer.h"
#include "train/inference/prediction_writers.h"

namespace mirrortrain {
namespace {

/// What an .npy file of float32 begins with.
std::string npy_header(std::int64_t rows, const Shape& row_shape) {
  std::string shape = std::to_string(rows) + ",";
  for (const std::int64_t dim : row_shape) shape += fmt::format(" {},", dim);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) + header;
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Passes an array's row to `write`: the raw output, float32 [rows, ...]; with `probabilities`, these instead.
template <class Write>
void write_row(const OutputMeaning& meaning, const ExampleOutput& output, bool probabilities, const Write& write) {
  if (!probabilities) return write(bytes_of(output.values));
  write(bytes_of(meaning.probabilities(output.values)));
}

class NpyPredictions : public PredictionWriter {
 public:
  NpyPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {
    sink_.write(npy_header(output.rows, meaning.shape));
  }

  void write(std::int64_t, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string>) override {
    write_row(meaning_, outputs.front(), probabilities_, [&](std::string_view bytes) { sink_.write(bytes); });
  }
  void finish() override { sink_.finish(); }

 private:
  PredictionSink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
};

/// An array of each output, by its layer's name.
class NpzPredictions : public PredictionWriter {
 public:
  NpzPredictions(const PredictionOutput& output, const Meanings& meanings)
      : archive_(output.file.value()), meanings_(meanings), probabilities_(output.probabilities) {
    for (const OutputMeaning& meaning : meanings) {
      archive_.write(archive_.add(meaning.layer + ".npy"), npy_header(output.rows, meaning.shape));
    }
  }

  void write(std::int64_t, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string>) override {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      write_row(meanings_[i], outputs[i], probabilities_, [&](std::string_view bytes) { archive_.write(i, bytes); });
    }
  }
  void finish() override { archive_.finish(); }

 private:
  data::ZipWriter archive_;
  const Meanings& meanings_;
  bool probabilities_;
};

}  // namespace

std::unique_ptr<PredictionWriter> npy_predictions(const PredictionOutput& output, const Meanings& meanings) {
  if (meanings.size() > 1) {
    throw UsageError(
        fmt::format("--output {}: an .npy file holds one array, and the model has {} outputs; write .npz, "
                    "which has an array for each",
                    output.file ? output.file->string() : "", meanings.size()));
  }
  return std::make_unique<NpyPredictions>(output, meanings.front());
}

std::unique_ptr<PredictionWriter> npz_predictions(const PredictionOutput& output, const Meanings& meanings) {
  require_not_read(output.file.value());
  return std::make_unique<NpzPredictions>(output, meanings);
}

}  // namespace mirrortrain
