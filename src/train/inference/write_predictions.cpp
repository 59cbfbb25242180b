#include "train/inference/write_predictions.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/files/stream_input.h"
#include "report/batch_progress.h"
#include "train/checkpoint/non_finite.h"
#include "train/inference/predict.h"

namespace mirrortrain {
namespace {

/// Writes predictions with the examples' numbers in the whole data: those that were left out have none, or a row of NaN
/// if rows have no numbers.
class NumberedPredictions {
 public:
  NumberedPredictions(PredictionWriter& writer, bool fills, const std::vector<OutputMeaning>& meanings)
      : writer_(writer), fills_(fills) {
    for (const OutputMeaning& meaning : meanings) {
      nothing_.emplace_back(static_cast<std::size_t>(meaning.elements()), std::numeric_limits<float>::quiet_NaN());
    }
  }

  /// `block`, whose examples follow, must last until its end.
  void begin(const data::TableBlock& block) {
    block_ = &block;
    left_out_ = block.left_out;
    files_ = block.examples ? pictures_of(*block.examples) : nullptr;
    row_ = 0;
  }
  /// Returns the example's number.
  std::int64_t write(std::span<const ExampleOutput> outputs) {
    pass_left_out();
    const auto at = static_cast<std::size_t>(next_ - block_->first);
    writer_.write(next_++, outputs, files_ != nullptr ? files_->row_text(block_->examples->first_row() + row_) : "",
                  at < block_->cells.size() ? block_->cells[at] : std::vector<std::string>());
    ++row_;
    return next_ - 1;
  }
  void end() { pass_left_out(); }

 private:
  void pass_left_out() {
    for (; !left_out_.empty() && left_out_.front() == next_; left_out_ = left_out_.subspan(1), ++next_) {
      if (!fills_) continue;
      std::vector<ExampleOutput> nothing;
      for (const std::vector<float>& values : nothing_) nothing.push_back({values});
      writer_.write(next_, nothing, "", {});
    }
  }

  PredictionWriter& writer_;
  bool fills_;
  const data::TableBlock* block_ = nullptr;
  std::span<const std::int64_t> left_out_{};
  const data::ExampleSource* files_ = nullptr;  ///< null if the examples are no pictures in files
  std::vector<std::vector<float>> nothing_;     ///< by output
  std::int64_t next_ = 0, row_ = 0;
};

/// Counts the examples for which the model outputs NaN.
class NanCount {
 public:
  void add(std::int64_t row) {
    if (count_++ == 0) first_ = row;
  }
  void warn(std::int64_t examples, Strategy& strategy, const Model& model) const {
    if (count_ == 0) return;
    spdlog::warn("the model gives NaN for {} of {} example{}, first for row {} (counting from 0): {}", count_, examples,
                 examples == 1 ? "" : "s", first_, reason_of_nan(strategy, model));
  }

 private:
  std::int64_t count_ = 0, first_ = 0;
};

/// Ends predict_all if a signal requests a stop.
struct Stopped {};

/// Shows how much is done: batches of rows, the part of the bytes that is read, or of a pipe the rows.
class Shown {
 public:
  Shown(bool shows, const ExampleBlocks& blocks)
      : blocks_(blocks), progress_(blocks.progress().of_bytes ? "predictions, % of the data" : "predictions", shows) {}

  /// `number`: of the example that is next. `rows`: of a batch.
  void show(std::int64_t number, std::int64_t rows) {
    const ExampleBlocks::Progress done = blocks_.progress();
    if (done.of_bytes) {
      const std::int64_t percent = std::min<std::int64_t>(100, done.read * 100 / std::max<std::int64_t>(1, done.all));
      if (percent > std::exchange(percent_, percent)) progress_.show(percent, 100);
    } else if (done.all > 0) {
      progress_.show(number / rows + 1, data::batches_of(done.all, rows));
    } else {
      progress_.show(number + 1, 0);
    }
  }
  void warn(ExampleBlocks& blocks) {
    const std::vector<std::string> warnings = blocks.take_warnings();
    if (!warnings.empty()) progress_.clear();
    for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  }

 private:
  const ExampleBlocks& blocks_;
  report::BatchProgress progress_;
  std::int64_t percent_ = 0;
};

}  // namespace

std::optional<std::int64_t> write_predictions(PredictionWriter& writer, bool is_of_arrays,
                                              const CheckedConfiguration& checked, Run& run,
                                              const std::vector<OutputMeaning>& meanings, ExampleBlocks& blocks,
                                              const std::function<bool(std::int64_t batch)>& stops,
                                              bool shows_progress) {
  NumberedPredictions predictions(writer, is_of_arrays, meanings);
  Shown shown(shows_progress, blocks);
  NanCount nan;
  const std::int64_t batch = kPredictedRows * run.strategy->num_replicas_in_sync();
  blocks.set_batch(batch);
  std::int64_t predicted = 0, batches = 0;
  const auto predict_block = [&](const data::TableBlock& block) {
    predict_all(
        run,
        [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
          const std::int64_t number = predicted + row;
          if (row == 0 || number % batch == 0) {
            if (stops(++batches)) throw Stopped{};
            shown.show(number, batch);
          }
          const std::int64_t written = predictions.write(outputs);
          bool any_nan = false;
          for (std::size_t i = 0; i < outputs.size(); ++i) any_nan = any_nan || has_nan(meanings[i], outputs[i]);
          if (any_nan) nan.add(written);
        },
        predicted);
    predicted += block.examples->rows();
  };
  try {
    bool is_first = true;
    while (const auto block = blocks.next()) {
      shown.warn(blocks);
      predictions.begin(*block);
      if (block->examples) {
        if (!std::exchange(is_first, false)) replace_examples(run, checked, *block->examples);
        predict_block(*block);
      }
      predictions.end();
      if (blocks.flows()) writer.flush();
    }
  } catch (const Stopped&) {
    return std::nullopt;
  } catch (const data::ReadingStopped&) {
    return std::nullopt;
  }
  shown.warn(blocks);
  writer.finish();
  nan.warn(predicted, *run.strategy, *checked.model);  // on every worker, as it reads the variables
  return predicted;
}

}  // namespace mirrortrain
