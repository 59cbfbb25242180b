#include "train/inference/prediction_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <system_error>

#include "base/error.h"

namespace mirrortrain {
namespace {

[[noreturn]] void throw_unwritable() {
  throw Error(fmt::format("stdout: cannot write the predictions: {}", std::generic_category().message(errno)));
}

/// Why an extra column cannot have its name, which is another one's, too. `is_kept`: it is one of --keep's.
std::string taken_name(const std::string& name, bool is_kept, bool is_of_outputs, std::string_view what) {
  if (!is_of_outputs)
    return fmt::format("--keep {0}: --labels writes a {1} '{0}' too; leave it out of --keep", name, what);
  return is_kept ? fmt::format(
                       "--keep {0}: '{0}' is a {1} of the predictions themselves; give the table's column "
                       "another name, or, for the true labels, write --labels instead",
                       name, what)
                 : fmt::format(
                       "--labels: the labels of an output would be the {1} '{0}', which the predictions "
                       "themselves have; leave --labels out, and take a table's labels by --keep COLUMN",
                       name, what);
}

}  // namespace

void require_distinct_names(std::vector<std::string> names, const PredictionOutput& output, std::string_view what) {
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    throw UsageError(
        fmt::format("two {}s of the predictions would be named '{}'; write them with --output FILE.npz, which has one "
                    "array for each output",
                    what, *twice));
  }
  const auto of_outputs = static_cast<std::ptrdiff_t>(names.size());
  for (std::size_t i = 0; i < output.extra_columns.size(); ++i) {
    const std::string& extra = output.extra_columns[i];
    const auto other = std::ranges::find(names, extra);
    if (other != names.end()) {
      throw UsageError(taken_name(extra, i < output.kept_columns, other - names.begin() < of_outputs, what));
    }
    names.push_back(extra);
  }
}

PredictionSink::PredictionSink(const std::optional<std::filesystem::path>& file) {
  if (!file) return;
  require_not_read(*file);
  file_.emplace(*file);
}

void PredictionSink::write(std::string_view text) {
  block_ += text;
  if (block_.size() >= kBlock) pass_on();
}

void PredictionSink::overwrite_beginning(std::string_view text) {
  pass_on();
  file_->overwrite(0, std::as_bytes(std::span(text)));
}

void PredictionSink::finish() {
  flush();
  if (file_) file_->commit();
}

void PredictionSink::flush() {
  pass_on();
  if (!file_ && std::fflush(stdout) != 0) throw_unwritable();
}

void PredictionSink::pass_on() {
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
