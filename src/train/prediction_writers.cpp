#include "train/prediction_writers.h"

#include <cstdio>

#include "base/error.h"

namespace mirrortrain {

PredictionSink::PredictionSink(const std::optional<std::filesystem::path>& file) {
  if (file) file_.emplace(*file);
}

void PredictionSink::write(std::string_view text) {
  block_ += text;
  if (block_.size() >= kBlock) flush();
}

void PredictionSink::finish() {
  flush();
  if (file_) return file_->commit();
  if (std::fflush(stdout) != 0) throw Error("stdout: cannot write the predictions");
}

void PredictionSink::flush() {
  if (file_) {
    file_->write(block_);
  } else if (std::fwrite(block_.data(), 1, block_.size(), stdout) != block_.size()) {
    throw Error("stdout: cannot write the predictions");
  }
  block_.clear();
}

std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output, const OutputMeaning& meaning) {
  switch (output.format) {
    case PredictionFormat::kJsonl: return jsonl_predictions(output, meaning);
    case PredictionFormat::kNpy: return npy_predictions(output, meaning);
    case PredictionFormat::kCsv: break;
  }
  return csv_predictions(output, meaning);
}

}  // namespace mirrortrain
