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

/// How a feeder makes what is not in memory as it is to be fed.
struct FeederOptions {
  RowsAhead::Options ahead{};
  bool trains = false;                            ///< whether preprocessing steps that draw act, in epochs from 1 on
  std::uint64_t seed = 0;                         ///< of what they draw
  ClassWeights classes{};                         ///< where the data set has no weights and the spec wants some
  std::vector<std::int64_t> bucket_boundaries{};  ///< of sequences; none: all are fed whole
  StallWatch* watch = nullptr;  ///< notified of what is read from a disk, if not null; must outlive the feeder
};

/// Brings rows of a data set into a replica's input buffers, converted and preprocessed on the way.
class Feeder {
 public:
  /// Looks through the labels once. Throws Error, naming file, row and label, for what does not fit.
  Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const InputSpec& spec,
         const FeederOptions& options = {});

  // `epoch` is 0 outside of training.

  /// Writes the examples `rows` (of the data set) to `features`, [rows, ...] float32 or bfloat16, and to `labels`,
  /// [rows, ...] int32 or float32 as the spec says, of each row as many elements as they hold; to `weights`, unless
  /// null, how much each counts. Allocates nothing; may run in many threads at once.
  void fill(std::span<const std::int64_t> rows, const TensorView& features, const TensorView& labels,
            float* weights = nullptr, std::int64_t epoch = 0) const;

  /// The rows that are filled in next, in order, where they are made one by one; else nothing to do. Whoever fills them
  /// finds them made ahead.
  void expect(std::span<const std::int64_t> rows, std::int64_t epoch = 0) const;
  bool reads_ahead() const { return ahead_ != nullptr; }
  /// How long whoever fills has waited for rows since the last call, all threads together; 0 where all are in memory.
  double take_waited_seconds() const { return ahead_ ? ahead_->take_waited_seconds() : 0; }

  /// Features as `affine` takes them: those of the data set, or what is made of them, which then are not in memory.
  const Array& features() const { return maker_ ? maker_->features() : dataset_.features(); }
  /// Labels before they are converted: those of the data set, or pictures that were moved, which are not in memory.
  const Array& labels() const { return label_pictures_->labels(); }
  const LabelPictures& label_pictures() const { return *label_pictures_; }
  /// Writes features and labels of `rows`, each one after the other.
  void copy_examples(std::span<const std::int64_t> rows, std::byte* features, std::byte* labels,
                     std::int64_t epoch = 0) const;

  const Dataset& dataset() const { return dataset_; }
  /// By the lengths of sequences; one for all where there are no boundaries.
  const LengthBuckets& buckets() const { return buckets_; }
  /// How much each example of the data set counts, where the spec says that examples are weighted; else empty.
  std::span<const float> weights() const { return weights_; }
  /// What `fill` does to features and labels, for who does it elsewhere; `one_hot_depth` 0 for none.
  const Affine& affine() const { return affine_; }
  std::int64_t one_hot_depth() const { return one_hot_depth_; }
  std::int64_t rows() const { return dataset_.rows(); }

 private:
  /// Steps that make examples one by one, and those on single numbers after them.
  struct Parts;
  Feeder(const Dataset& dataset, const Parts& parts, const InputSpec& spec, const FeederOptions& options);

  Dataset dataset_;
  Affine affine_;
  std::int64_t one_hot_depth_;
  std::shared_ptr<const ExampleMaker> maker_;  ///< null where all features are in memory
  std::shared_ptr<const LabelPictures> label_pictures_;
  RowConverter to_float32_, to_bfloat16_;  // features
  LabelConverter labels_;
  std::vector<float> weights_;
  LengthBuckets buckets_;
  std::shared_ptr<RowsAhead> ahead_;  ///< of the maker: features, and labels that are moved behind them
};

}  // namespace mirrortrain::data
