#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "data/dataset.h"
#include "data/feeding/example_weights.h"
#include "data/loading/label_pictures.h"
#include "data/loading/model_fit.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/example_maker.h"
#include "data/reading/gather.h"
#include "data/reading/rows_ahead.h"
#include "data/reading/sequences.h"
#include "data/reading/stall_watch.h"

namespace mirrortrain::data {

/// How a feeder computes features that are not stored in memory as fed.
struct FeederOptions {
  RowsAhead::Options ahead{};
  bool trains = false;                            ///< whether random transforms are applied, in epochs from 1 on
  std::uint64_t seed = 0;                         ///< of the random transforms
  ClassWeights classes{};                         ///< if the data set has no weights and the spec needs some
  std::vector<std::int64_t> bucket_boundaries{};  ///< of sequences; none: all are fed in full length
  StallWatch* watch = nullptr;                    ///< notified of reads from disk, if not null; must outlive the feeder
};

/// Writes rows of a data set to a replica's input buffers, converting and preprocessing them.
class Feeder {
 public:
  /// Checks the labels once. Throws Error, naming file, row and label, for those that do not fit.
  Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
         const FeederOptions& options = {});

  // `epoch` is 0 outside of training.

  /// Writes the examples `rows` (of the data set) to `features`, [rows, ...] float32 or bfloat16, and to `labels`,
  /// [rows, ...] int32 or float32 according to the spec, for each row as many elements as they hold; and to `weights`,
  /// unless null, each example's weight. Does not allocate; thread-safe.
  void fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels,
            float* weights = nullptr, std::int64_t epoch = 0) const;

  /// Announces the next rows to fill, in order, if they are computed one by one, so that they are computed ahead;
  /// otherwise does nothing.
  void expect(std::span<const std::int64_t> rows, std::int64_t epoch = 0) const;
  bool reads_ahead() const { return ahead_ != nullptr; }
  /// Total time that calling threads have waited for rows since the last call; 0 if all are in memory.
  double take_waited_seconds() const { return ahead_ ? ahead_->take_waited_seconds() : 0; }

  /// Features as input of `affine`: the data set's, or computed ones, which are then not in memory.
  const Array& features() const { return maker_ ? maker_->features() : dataset_.features(); }
  /// Labels before conversion: the data set's, or transformed pictures, which are not in memory.
  const Array& labels() const { return label_pictures_->labels(); }
  const LabelPictures& label_pictures() const { return *label_pictures_; }
  /// Writes features and labels of `rows`, each contiguously.
  void copy_examples(std::span<const std::int64_t> rows, std::byte* features, std::byte* labels,
                     std::int64_t epoch = 0) const;

  const Dataset& dataset() const { return dataset_; }
  /// By the lengths of sequences; a single one if there are no boundaries.
  const LengthBuckets& buckets() const { return buckets_; }
  /// The weight of each example of the data set if the spec says that examples are weighted; else empty.
  std::span<const float> weights() const { return weights_; }
  /// The conversions by `fill` of features and labels, for conversion elsewhere; `one_hot_depth` 0 for none.
  const Affine& affine() const { return affine_; }
  std::int64_t one_hot_depth() const { return one_hot_depth_; }
  std::int64_t rows() const { return dataset_.rows(); }

 private:
  /// Transforms that compute examples one by one, and those on single numbers after them.
  struct Parts;
  Feeder(const Dataset& dataset, const Parts& parts, const InputSpec& spec, const FeederOptions& options);

  Dataset dataset_;
  Affine affine_;
  std::int64_t one_hot_depth_;
  std::shared_ptr<const ExampleMaker> maker_;  ///< null if all features are in memory
  std::shared_ptr<const LabelPictures> label_pictures_;
  RowConverter to_float32_, to_bfloat16_;  // features
  LabelConverter labels_;
  std::vector<float> weights_;
  LengthBuckets buckets_;
  std::shared_ptr<RowsAhead> ahead_;  ///< of the maker: features, followed by labels if they are transformed
};

}  // namespace mirrortrain::data
