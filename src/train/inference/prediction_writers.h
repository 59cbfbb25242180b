#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "train/inference/prediction.h"

namespace mirrortrain {

/// Writes text or bytes to a file, which appears once finished, or to stdout, in blocks. Throws Error if they cannot be
/// written.
class PredictionSink {
 public:
  /// Absent: stdout.
  explicit PredictionSink(const std::optional<std::filesystem::path>& file);
  void write(std::string_view text);
  void finish();

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  void flush();

  std::optional<AtomicFile> file_;
  std::string block_;
};

// The implementations of make_prediction_writer.
std::unique_ptr<PredictionWriter> csv_predictions(const PredictionOutput& output, const OutputMeaning& meaning);
std::unique_ptr<PredictionWriter> jsonl_predictions(const PredictionOutput& output, const OutputMeaning& meaning);
std::unique_ptr<PredictionWriter> npy_predictions(const PredictionOutput& output, const OutputMeaning& meaning);

}  // namespace mirrortrain
