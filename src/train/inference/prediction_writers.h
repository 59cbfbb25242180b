#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// Replaces the beginning, which was written before; only where `can_overwrite`.
  void overwrite_beginning(std::string_view text);
  bool can_overwrite() const { return file_ && file_->can_overwrite(); }
  /// Passes on what was written.
  void flush();
  void finish();

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  void pass_on();

  std::optional<AtomicFile> file_;
  std::string block_;
};

/// Throws UsageError where two values of a prediction would have one name: those of the outputs, `names`, or an extra
/// column. `what`: "column" or "key".
void require_distinct_names(std::vector<std::string> names, const PredictionOutput& output, std::string_view what);

// The implementations of make_prediction_writer.
using Meanings = std::vector<OutputMeaning>;
std::unique_ptr<PredictionWriter> csv_predictions(const PredictionOutput& output, const Meanings& meanings);
std::unique_ptr<PredictionWriter> jsonl_predictions(const PredictionOutput& output, const Meanings& meanings);
/// Throws UsageError for a model of several outputs.
std::unique_ptr<PredictionWriter> npy_predictions(const PredictionOutput& output, const Meanings& meanings);
/// `output` must have a file.
std::unique_ptr<PredictionWriter> npz_predictions(const PredictionOutput& output, const Meanings& meanings);

}  // namespace mirrortrain
