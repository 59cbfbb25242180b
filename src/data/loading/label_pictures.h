#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/input_spec.h"
#include "data/pictures/picture_steps.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/gather.h"
#include "data/reading/rows_ahead.h"

namespace mirrortrain::data {

/// Those of `steps`, which act on features of the shape `features`, that labels of the shape `labels` go through too:
/// the ones that move what is where in a picture (flips, crops, translations, rotations, resizing), where labels are
/// pictures, [height, width] or [height, width, channels], as masks and the labels of an autoencoder are. Labels of
/// another size than the features but the same ratio of height to width are moved at their own size; resizing leaves
/// them where they fit the model's output as they are. None for labels that are no pictures. `one_hot_depth`: 0 for
/// none. Throws KeyError for a step that cannot be done to labels that are pictures.
std::vector<PreprocessingStep> label_steps(const std::vector<PreprocessingStep>& steps, const Shape& features,
                                           const Shape& labels, const InputSpec& spec, std::int64_t one_hot_depth);

/// Labels that are pictures, moved as their features are.
class LabelPictures {
 public:
  /// `steps`: those that act, see acting_steps; each draws for labels what it draws for the features of the same
  /// example. Classes (whole numbers under a loss of classes or one_hot, and labels that are all 0 or 1) are those of
  /// the nearest pixel, and 0 where a picture is filled; other numbers are interpolated and filled as the features.
  LabelPictures(const Dataset& dataset, const std::vector<PreprocessingStep>& steps, const InputSpec& spec,
                std::int64_t one_hot_depth, std::uint64_t seed);

  /// Whether labels are fed as they were read.
  bool empty() const { return steps_.empty(); }
  /// What it makes, float32 [rows, ...], without any memory; where it is empty, the data set's labels.
  const Array& labels() const { return empty() ? dataset_.labels() : made_; }
  /// Writes the labels of a row of the data set. May run in many threads at once.
  void make(const ExampleKey& key, std::span<float> to) const;

 private:
  LabelPictures(const Dataset& dataset, const std::vector<PreprocessingStep>& steps, std::uint64_t seed);

  Dataset dataset_;
  PictureSteps steps_;
  RowConverter to_float_;
  Array made_;
};

}  // namespace mirrortrain::data
