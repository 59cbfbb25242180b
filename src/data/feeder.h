#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "data/dataset.h"
#include "data/fit.h"
#include "data/gather.h"
#include "data/preprocessing.h"
#include "data/rows_ahead.h"

namespace mirrortrain::data {

/// Brings rows of a data set into a replica's input buffers, converted and preprocessed on the way.
class Feeder {
 public:
  /// Looks through the labels once. Throws Error, naming file, row and label, for what does not fit.
  Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
         const RowsAhead::Options& reading = {});

  /// Writes the examples `rows` (of the data set) to `features`, [rows, ...] float32 or bfloat16, and to `labels`,
  /// [rows, ...] int32 or float32 as the spec says. Allocates nothing; may run in many threads at once.
  void fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels) const;

  /// The rows that are filled in next, in order, where they are read from files; else nothing to do. Whoever fills them
  /// finds them read ahead.
  void expect(std::span<const std::int64_t> rows) const;
  bool reads_ahead() const { return ahead_ != nullptr; }
  /// Writes the features of `rows` as the data set has them, one after the other.
  void copy_features(std::span<const std::int64_t> rows, std::byte* to) const;

  const Dataset& dataset() const { return dataset_; }
  /// What `fill` does to features and labels, for who does it elsewhere; `one_hot_depth` 0 for none.
  const Affine& affine() const { return affine_; }
  std::int64_t one_hot_depth() const { return one_hot_depth_; }
  std::int64_t rows() const { return dataset_.rows(); }

 private:
  Feeder(const Dataset& dataset, const Affine& affine, std::int64_t one_hot_depth, const InputSpec& spec,
         const RowsAhead::Options& reading);

  Dataset dataset_;
  Affine affine_;
  std::int64_t one_hot_depth_;
  RowConverter to_float32_, to_bfloat16_;  // features
  LabelConverter labels_;
  std::shared_ptr<RowsAhead> ahead_;  ///< null where all features are in memory
};

}  // namespace mirrortrain::data
