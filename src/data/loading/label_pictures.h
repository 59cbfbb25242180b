#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/example_spec.h"
#include "data/pictures/picture_steps.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/gather.h"
#include "data/reading/rows_ahead.h"

namespace mirrortrain::data {

/// The transforms of `steps`, for an input's features of shape `features`, that also apply to an output's labels of
/// shape `labels`: those that move pixels (flips, crops, translations, rotations, resizing), if labels are pictures,
/// [height, width] or [height, width, channels], such as masks and the labels of an autoencoder. Labels of another size
/// than the features but of the same aspect ratio are transformed at their own size; resizing leaves labels unchanged
/// if they already fit the model's output. None for labels that are not pictures. Throws KeyError for a transform that
/// is not applicable to labels that are pictures.
std::vector<PreprocessingStep> label_steps(const std::vector<PreprocessingStep>& steps, const Shape& features,
                                           const Shape& labels, std::size_t output, const Wanted& wanted);

/// Labels of an output that are pictures, transformed with an input's features.
class LabelPictures {
 public:
  /// `steps`: those that act, see acting_steps; each uses the same random numbers for the labels and the features of an
  /// example. Classes (integers under a loss of classes or one_hot, and labels that are all 0 or 1) are taken from the
  /// nearest pixel, and are 0 where a picture is filled; other numbers are interpolated and filled like the features.
  LabelPictures(const Dataset& dataset, std::size_t input, const std::vector<PreprocessingStep>& steps,
                std::size_t output, const Wanted& wanted, std::uint64_t seed);

  /// Whether labels are fed as read.
  bool empty() const { return steps_.empty(); }
  /// The transformed labels, float32 [rows, ...], without memory; if there are none, the data set's labels.
  const Array& labels() const { return empty() ? dataset_.labels(output_) : made_; }
  /// Writes the labels of a row of the data set. Thread-safe.
  void make(const ExampleKey& key, std::span<float> to) const;

 private:
  LabelPictures(const Dataset& dataset, std::size_t output, const std::vector<PreprocessingStep>& steps,
                std::uint64_t seed);

  Dataset dataset_;
  std::size_t output_;
  PictureSteps steps_;
  RowConverter to_float_;
  Array made_;
};

}  // namespace mirrortrain::data
