#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tensor_view.h"
#include "data/dataset.h"
#include "data/example_spec.h"
#include "data/feeding/example_weights.h"
#include "data/feeding/mixed_examples.h"
#include "data/loading/label_pictures.h"
#include "data/loading/model_fit.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/example_maker.h"
#include "data/reading/gather.h"
#include "data/reading/rows_ahead.h"
#include "data/reading/sequences.h"
#include "data/reading/stall_watch.h"

namespace mirrortrain::data {

/// Examples have another shape than the model takes.
class ShapeMismatch : public Error {
 public:
  ShapeMismatch(const std::string& origin, std::string mismatch)
      : Error(origin + ": " + mismatch), mismatch_(std::move(mismatch)) {}
  /// What is said of any data of this shape.
  const std::string& mismatch() const { return mismatch_; }

 private:
  std::string mismatch_;
};

/// How a feeder computes or reads what is not in memory as it is fed.
struct FeederOptions {
  RowsAhead::Options ahead{};
  bool trains = false;                  ///< whether random transforms are applied, in epochs from 1 on
  std::uint64_t seed = 0;               ///< of the random transforms
  std::vector<ClassWeights> classes{};  ///< by output; for labels without weights of which the spec needs some
  std::vector<std::int64_t> bucket_boundaries{};  ///< of sequences; none: all are fed in full length
  StallWatch* watch = nullptr;                    ///< notified of reads from disk, if not null; must outlive the feeder
};

/// Where the labels of an output go.
struct LabelBuffers {
  TensorView labels;         ///< [rows, ...] int32 or float32 according to the spec
  float* weights = nullptr;  ///< [rows]; null if none are read
  float* present = nullptr;  ///< [rows]: 1 where there is a label, else 0; null if it is not read
};

/// A replica's input buffers, in the order of the model's inputs and outputs. If they hold fewer elements of a row than
/// the data set has, these are its first.
struct BatchBuffers {
  std::vector<TensorView> inputs;  ///< [rows, ...] float32 or bfloat16
  std::vector<LabelBuffers> outputs;
};

/// Writes rows of a data set to a replica's input buffers, converting and preprocessing them.
class Feeder {
 public:
  /// Checks the labels once. Throws Error, naming file, row and label, for those that do not fit. The dataset's inputs
  /// and outputs are in the order of the spec's.
  Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const ExampleSpec& spec,
         const FeederOptions& options = {});

  // `epoch` is 0 outside of training.

  /// Writes a part of a batch. Does not allocate; thread-safe.
  void fill(const BatchPart& part, const BatchBuffers& to, std::int64_t epoch) const;
  /// The examples `rows` (of the data set), which are a batch.
  void fill(std::span<const std::int64_t> rows, const BatchBuffers& to, std::int64_t epoch = 0) const {
    fill({rows, 0, rows.size()}, to, epoch);
  }

  /// Whether an input is in memory as it is fed, so that `fill_input` can write it alone.
  bool can_fill(std::size_t input) const { return inputs_[input].is_stored() && mixed_.empty(); }
  /// Writes one input [rows, ...] of examples. Does not allocate; thread-safe.
  void fill_input(std::size_t input, std::span<const std::int64_t> rows, const TensorView& to) const;

  /// Announces the next rows to be read, in order, if they are computed one by one, so that they are computed ahead;
  /// otherwise does nothing.
  void expect(std::span<const std::int64_t> rows, std::int64_t epoch = 0) const;
  /// Appends the rows that filling a part of a batch reads, with those that it is mixed with.
  void append_rows(const BatchPart& part, std::int64_t epoch, std::vector<std::int64_t>& rows) const;
  bool reads_ahead() const { return ahead_ != nullptr; }
  /// Total time that calling threads have waited for rows since the last call; 0 if all are in memory.
  double take_waited_seconds() const { return ahead_ ? ahead_->take_waited_seconds() : 0; }

  std::size_t inputs() const { return inputs_.size(); }
  std::size_t outputs() const { return outputs_.size(); }
  /// Whether all features and labels are in memory as `features` and `labels` describe them.
  bool is_stored() const { return ahead_ == nullptr && mixed_.empty(); }
  /// An input's features as `affine` takes them: the data set's, or computed ones, which are then not in memory.
  const Array& features(std::size_t input) const;
  /// An output's labels before conversion: the data set's; or transformed pictures or mixed labels, which are not in
  /// memory.
  const Array& labels(std::size_t output) const;
  const LabelPictures& label_pictures(std::size_t output) const { return *outputs_[output].pictures; }
  /// Where the labels of an output go before conversion. Numbers are null if the spec wants none.
  struct LabelCopies {
    std::byte* labels = nullptr;
    float *weights = nullptr, *present = nullptr;
  };
  /// Writes features and labels of a part of a batch before conversion, each contiguously.
  void copy_examples(const BatchPart& part, std::span<std::byte* const> inputs, std::span<const LabelCopies> outputs,
                     std::int64_t epoch = 0) const;

  const Dataset& dataset() const { return dataset_; }
  /// By the lengths of sequences; a single one if there are no boundaries.
  const LengthBuckets& buckets() const { return buckets_; }
  /// The weight of each example of the data set for an output if the spec says that it is weighted; else empty.
  std::span<const float> weights(std::size_t output) const { return outputs_[output].weights; }
  /// 1 for each example of the data set with a label for an output, else 0, if the spec says that it may be missing;
  /// else empty.
  std::span<const float> present(std::size_t output) const { return outputs_[output].present; }
  /// The conversions by `fill` of features and labels, for conversion elsewhere; `one_hot_depth` 0 for none.
  const Affine& affine(std::size_t input) const { return inputs_[input].affine; }
  std::int64_t one_hot_depth(std::size_t output) const { return mixed_.empty() ? outputs_[output].one_hot_depth : 0; }
  std::int64_t rows() const { return dataset_.rows(); }

 private:
  /// What feeds an input of the model.
  struct Input {
    Affine affine;
    std::shared_ptr<const ExampleMaker> maker;  ///< null if the features are fed as they are stored
    RowConverter to_float32, to_bfloat16;
    std::size_t made_at = 0;  ///< where they are in a row read ahead, or mixed
    bool is_ahead = false;    ///< whether they are read ahead: computed ones, or as they are stored in files

    /// Whether they are in memory as they are fed.
    bool is_stored() const { return !maker && !is_ahead; }
  };
  /// What feeds an output's labels.
  struct Output {
    std::int64_t one_hot_depth = 0;
    std::shared_ptr<const LabelPictures> pictures;
    LabelConverter converter;
    std::vector<float> weights, present;
    std::size_t made_at = 0;
    bool is_ahead = false;
    Array mixed{};             ///< the labels in their final form, if examples are mixed; not in memory
    std::size_t mixed_at = 0;  ///< where labels, weight and presence are in a mixed example, in this order
  };
  const RowConverter& converter(std::size_t input, const TensorView& to) const;
  void add_input(std::size_t number, const std::vector<PreprocessingStep>& acting,
                 std::optional<std::size_t> before_mixing, const InputSpec& spec, const FeederOptions& options);
  void add_output(std::size_t number, const std::vector<std::vector<PreprocessingStep>>& acting, const Wanted& wanted,
                  const FeederOptions& options);
  void read_ahead(const RowsAhead::Options& options, StallWatch* watch);
  void mix(const std::vector<PreprocessingStep>& preprocessing, const ExampleSpec& spec, const FeederOptions& options);
  void read_for_mixing(std::int64_t row, std::int64_t epoch, std::span<float> to) const;
  void fill_mixed(const BatchPart& part, const BatchBuffers& to, std::int64_t epoch) const;
  void copy_mixed(const BatchPart& part, std::span<std::byte* const> to_inputs, std::span<const LabelCopies> to_outputs,
                  std::int64_t epoch) const;

  Dataset dataset_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  LengthBuckets buckets_;
  std::shared_ptr<RowsAhead> ahead_;  ///< of what is not in memory: features, followed by labels
  std::size_t ahead_elements_ = 0;
  MixedExamples mixed_;  ///< of rows read ahead, followed by other mixed features, and labels with their weights
};

}  // namespace mirrortrain::data
