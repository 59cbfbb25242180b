#include "train/inference/number_report.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace mirrortrain {

void NumberReport::add(std::span<const double> labels, std::span<const float> predictions) {
  if (labels.size() != predictions.size()) {
    throw Error(fmt::format("an example has {} labels, and the model gives {} numbers for it", labels.size(),
                            predictions.size()));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) add(labels[i], static_cast<double>(predictions[i]));
}

void NumberReport::add(double label, double prediction) {
  if (!std::isfinite(label) || !std::isfinite(prediction)) return;
  const double error = prediction - label;
  errors_ += error;
  absolute_ += std::abs(error);
  squares_ += error * error;
  // Welford's method: the sum of squares alone would lose its digits where the mean is large.
  const double from_mean = label - label_mean_;
  label_mean_ += from_mean / static_cast<double>(count_ + 1);
  label_squares_ += from_mean * (label - label_mean_);
  if (count_ % stride_ == 0) {
    if (shown_.size() == kMostShown) {  // every second one goes
      for (std::size_t i = 0; 2 * i < kMostShown; ++i) shown_[i] = shown_[2 * i];
      shown_.resize(kMostShown / 2);
      stride_ *= 2;
    }
    if (count_ % stride_ == 0) shown_.emplace_back(label, prediction);
  }
  ++count_;
}

report::NumberFigures NumberReport::figures() const {
  report::NumberFigures figures;
  figures.count = count_;
  if (count_ == 0) return figures;
  const auto count = static_cast<double>(count_);
  figures.mean_error = errors_ / count;
  figures.mean_absolute_error = absolute_ / count;
  figures.root_mean_squared_error = std::sqrt(squares_ / count);
  figures.r2 = label_squares_ > 0 ? 1 - squares_ / label_squares_ : NAN;
  figures.sample = shown_;
  return figures;
}

}  // namespace mirrortrain
