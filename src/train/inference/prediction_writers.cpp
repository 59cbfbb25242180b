#include "train/inference/prediction_writers.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"

namespace mirrortrain {
namespace {

[[noreturn]] void throw_unwritable() {
  throw Error(fmt::format("stdout: cannot write the predictions: {}", std::generic_category().message(errno)));
}

}  // namespace

PredictionSink::PredictionSink(const std::optional<std::filesystem::path>& file) {
  if (!file) return;
  require_not_read(*file);
  file_.emplace(*file);
}

void PredictionSink::write(std::string_view text) {
  block_ += text;
  if (block_.size() >= kBlock) flush();
}

void PredictionSink::finish() {
  flush();
  if (file_) return file_->commit();
  if (std::fflush(stdout) != 0) throw_unwritable();
}

void PredictionSink::flush() {
  if (file_) {
    file_->write(block_);
  } else if (std::fwrite(block_.data(), 1, block_.size(), stdout) != block_.size()) {
    throw_unwritable();
  }
  block_.clear();
}

std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output, const Meanings& meanings) {
  switch (output.format) {
    case PredictionFormat::kJsonl: return jsonl_predictions(output, meanings);
    case PredictionFormat::kNpy: return npy_predictions(output, meanings);
    case PredictionFormat::kNpz: return npz_predictions(output, meanings);
    case PredictionFormat::kCsv: break;
  }
  return csv_predictions(output, meanings);
}

}  // namespace mirrortrain
