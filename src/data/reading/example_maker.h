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

/// Computes examples' features for an input: from memory or their files, by preprocessing transforms. Each is a pure
/// function of data set, seed, epoch and row, independent of thread and time.
class ExampleMaker {
 public:
  /// `watch`, unless null, is notified of reads from files, and must outlive the maker. Throws Error if examples are
  /// not pictures and a transform needs pictures.
  ExampleMaker(const Dataset& dataset, std::size_t input, const std::vector<PreprocessingStep>& steps,
               std::uint64_t seed, StallWatch* watch = nullptr);

  /// The type and shape of the computed features, float32 [rows, ...], without memory.
  const Array& features() const { return features_; }
  /// Has the system fetch what `make` reads of these rows, while this thread goes on. Thread-safe.
  void will_read(std::int64_t first, std::int64_t count) const;
  /// Writes the features of a row of the data set. Thread-safe.
  void make(const ExampleKey& key, std::span<float> to) const;

 private:
  Dataset dataset_;
  std::size_t input_;
  RowConverter scale_;  ///< transforms of each number before the first transform of pictures
  bool scales_ = false;
  StallWatch* watch_;
  PictureSteps pictures_;
  Array features_;
};

}  // namespace mirrortrain::data
