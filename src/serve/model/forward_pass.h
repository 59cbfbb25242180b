#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"

namespace mirrortrain {

/// A run's network, ready for batches of a few sizes. For one thread.
///
/// Kernels may add in another order for another number of rows, so that `predict` always computes the same number.
/// Other batches, which take less time, or less time for each row, are used only where they have the same bits: which
/// do is found by computing examples of many magnitudes in each of them.
class ForwardPass {
 public:
  /// `most_rows`: of a batch, if one that large has the same bits. `checked`, whose examples are fed from the host's
  /// memory from now on, and `named` must outlive it. Throws the exceptions of build_run, and Error for weights that
  /// cannot be read.
  ForwardPass(CheckedConfiguration& checked, const NamedRun& named, std::int64_t most_rows);

  /// Reads the run's weights anew. Throws Error if they cannot be read; then the old ones stay.
  void load();
  /// The training step of the weights; 0 if unknown.
  std::int64_t step() const { return step_; }

  /// Rows that are computed together at most.
  std::int64_t most_rows() const;
  /// Whether a row's bits depend on its place in the batch. Then a batch has rows of one request alone, at the places
  /// that `predict` gives them.
  bool places_matter() const { return places_matter_; }
  /// Rows of a request that are computed together at most, from the one with this number on.
  std::int64_t most_rows_from(std::int64_t place) const;
  /// Sizes of the batches, ascending.
  const std::vector<std::int64_t>& batches() const { return batches_; }
  int replicas() const { return run_.strategy->num_replicas_in_sync(); }

  std::size_t inputs() const { return run_.test->inputs(); }
  std::size_t outputs() const { return outputs_.size(); }
  /// Of an example.
  std::int64_t input_elements(std::size_t input) const { return run_.test->features(input).row_elements(); }
  std::int64_t output_elements(std::size_t output) const { return elements_[output]; }

  /// Where the examples of the next batch go, preprocessed: [most_rows, elements].
  std::span<float> input(std::size_t number);
  /// Computes the first `rows` of them. `place`: the number of the first of them in its request.
  void compute(std::int64_t rows, std::int64_t place);
  /// [rows, elements] and more, from the last batch.
  std::span<const float> output(std::size_t number) const;

 private:
  /// Rows of the input, and where they are in the batch.
  struct Range {
    std::int64_t places, rows, count;
  };
  void compute(std::int64_t batch, const Range& range);
  std::vector<std::vector<float>> test_outputs(std::int64_t batch, std::int64_t place, std::int64_t most);
  void fill_with_tests();
  void keep_batches_of_same_bits();

  const NamedRun& named_;
  const std::vector<data::InputSpec>& specs_;
  std::int64_t places_;  ///< rows that there is memory for
  Run run_;
  std::vector<std::int64_t> batches_;
  bool places_matter_ = false;
  std::int64_t first_place_ = 0;  ///< of the last batch
  std::int64_t step_ = 0;
  std::int64_t of_predict_ = 0;         ///< the batch that `predict` computes
  std::vector<std::int64_t> elements_;  ///< of each output
  std::vector<std::vector<float>> outputs_;
  std::vector<std::int64_t> rows_;  ///< of the batch
};

}  // namespace mirrortrain
