#include "train/inference/write_predictions.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "report/batch_progress.h"
#include "train/checkpoint/non_finite.h"
#include "train/inference/predict.h"

namespace mirrortrain {
namespace {

/// Writes predictions with the examples' numbers in the whole data: those that were left out have none, or a row of NaN
/// if rows have no numbers.
class NumberedPredictions {
 public:
  NumberedPredictions(PredictionWriter& writer, const data::Dataset& examples, bool fills,
                      const std::vector<OutputMeaning>& meanings, const ExtraColumns& extra)
      : writer_(writer), examples_(examples), extra_(extra), fills_(fills), files_(pictures_of(examples)) {
    for (const OutputMeaning& meaning : meanings) {
      nothing_.emplace_back(static_cast<std::size_t>(meaning.elements()), std::numeric_limits<float>::quiet_NaN());
    }
    if (left_out_within(examples) > 0) left_out_ = examples.left_out()->rows;
  }

  void write(std::span<const ExampleOutput> outputs) {
    pass_left_out();
    const auto at = static_cast<std::size_t>(next_);
    writer_.write(next_++, outputs, files_ != nullptr ? files_->row_text(examples_.first_row() + row_) : "",
                  at < extra_.rows.size() ? extra_.rows[at] : std::vector<std::string>());
    ++row_;
  }
  void finish() {
    pass_left_out();
    writer_.finish();
  }

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
  const data::Dataset& examples_;
  const ExtraColumns& extra_;
  std::span<const std::int64_t> left_out_{};
  bool fills_;
  const data::ExampleSource* files_;         ///< null if the examples are no pictures in files
  std::vector<std::vector<float>> nothing_;  ///< by output
  std::int64_t next_ = 0, row_ = 0;
};

/// Counts the examples for which the model outputs NaN.
class NanCount {
 public:
  void add(std::int64_t row) {
    if (count_++ == 0) first_ = row;
  }
  void warn(const data::Dataset& examples, Strategy& strategy, const Model& model) const {
    if (count_ == 0) return;
    spdlog::warn("the model gives NaN for {} of {} example{}, first for row {} (counting from 0): {}", count_,
                 examples.rows(), examples.rows() == 1 ? "" : "s", first_, reason_of_nan(strategy, model));
  }

 private:
  std::int64_t count_ = 0, first_ = 0;
};

/// Ends predict_all if a signal requests a stop.
struct Stopped {};

}  // namespace

bool write_predictions(const PredictionOutput& output, const Run& run, const Model& model,
                       const std::vector<OutputMeaning>& meanings, const data::Dataset& examples,
                       const ExtraColumns& extra, const std::atomic<int>& signal, bool shows_progress) {
  const auto writer = make_prediction_writer(output, meanings);
  NumberedPredictions predictions(*writer, examples, is_of_arrays(output.format), meanings, extra);
  report::BatchProgress progress("predictions", shows_progress);
  NanCount nan;
  const std::int64_t batch = kPredictedRows * run.strategy->num_replicas_in_sync();
  try {
    predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
      if (signal != 0) throw Stopped{};
      if (row % batch == 0) progress.show(row / batch + 1, data::batches_of(examples.rows(), batch));
      predictions.write(outputs);
      bool any_nan = false;
      for (std::size_t i = 0; i < outputs.size(); ++i) any_nan = any_nan || has_nan(meanings[i], outputs[i]);
      if (any_nan) nan.add(row);
    });
  } catch (const Stopped&) {
    return false;
  }
  predictions.finish();
  nan.warn(examples, *run.strategy, model);
  return true;
}

}  // namespace mirrortrain
