#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/pictures/picture_steps.h"
#include "data/reading/gather.h"
#include "data/reading/rows_ahead.h"
#include "data/reading/stall_watch.h"

namespace mirrortrain::data {

/// Makes examples' features: from memory or their files, through preprocessing steps. Each is a pure function of data
/// set, seed, epoch and row, whoever asks for it and when.
class ExampleMaker {
 public:
  /// `watch`, unless null, is notified of what is read from files, and must outlive the maker. Throws Error where examples
  /// are no pictures and a step takes them.
  ExampleMaker(const Dataset& dataset, const std::vector<PreprocessingStep>& steps, std::uint64_t seed,
               StallWatch* watch = nullptr);

  /// What it makes, float32 [rows, ...], without any memory.
  const Array& features() const { return features_; }
  /// Writes the features of a row of the data set. May run in many threads at once.
  void make(const ExampleKey& key, std::span<float> to) const;

 private:
  Dataset dataset_;
  RowConverter scale_;  ///< what is done to each number before the first step on pictures
  bool scales_ = false;
  StallWatch* watch_;
  PictureSteps pictures_;
  Array features_;
};

}  // namespace mirrortrain::data
