#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/philox.h"
#include "data/pictures/resample.h"
#include "data/preprocessing/preprocessing.h"

namespace mirrortrain::data {

/// The part of a step's global batch that a replica gets.
struct BatchPart {
  std::span<const std::int64_t> batch;  ///< rows of the data set
  std::size_t first = 0, count = 0;     ///< the part's
  std::span<const std::int64_t> rows() const { return batch.subspan(first, count); }
};

/// to = weight x to + (1 - weight) x other
void blend(std::span<float> to, std::span<const float> other, float weight);

/// A rectangle as parts of a picture's height and width: its side's, and where it lies in what is left.
struct CutWindow {
  float side = 0, down = 0, right = 0;
};
/// Replaces the pixels from the rectangle's top and left edge on to those before its bottom and right edge.
void cut(std::span<float> to, std::span<const float> other, const Extents& picture, const CutWindow& window);

/// Numbers of an example that are mixed with those of another: a range of its floats.
struct MixedNumbers {
  std::size_t first = 0, count = 0;
  Extents picture{};         ///< what cut_mix cuts; no elements: numbers that are mixed by the area
  bool are_weights = false;  ///< of the example: 0 if either is 0, so that what does not count is in no other example
};

/// A transform that mixes examples, and what it mixes.
struct MixingStep {
  PreprocessingStep step;
  std::vector<MixedNumbers> numbers;
};

/// Mixes the examples of a batch with each other. An example's partner is one of the same global batch, by a
/// permutation that is a pure function of seed, epoch and the batch's rows; how they are mixed is one of seed, epoch
/// and row. So the replicas' parts do not depend on how many there are.
class MixedExamples {
 public:
  /// Writes a row of the data set as it is before mixing.
  using Read = std::function<void(std::int64_t row, std::span<float> to)>;
  using Use = std::function<void(std::size_t at, std::span<const float> example)>;

  MixedExamples() = default;
  /// `elements`: the floats of an example.
  MixedExamples(const std::vector<MixingStep>& steps, std::size_t elements, std::uint64_t seed);

  bool empty() const { return steps_.empty(); }
  /// Calls `use` with each example of the part, counted from 0. Nothing is mixed in epoch 0, outside of training.
  /// Thread-safe.
  void make(const BatchPart& part, std::int64_t epoch, const Read& read, const Use& use) const;
  /// Appends the rows that `make` reads, in order.
  void append_rows(const BatchPart& part, std::int64_t epoch, std::vector<std::int64_t>& rows) const;

 private:
  struct Step {
    MixingStep step;
    Philox of_batches, of_rows;
  };
  struct Batch;
  void draw(const BatchPart& part, std::int64_t epoch, Batch& batch) const;
  void make(std::size_t steps, std::size_t position, Batch& batch, const Read& read, std::span<float> to) const;
  static void append(std::size_t steps, std::size_t position, const Batch& batch, std::vector<std::int64_t>& rows);

  std::vector<Step> steps_;
  std::size_t elements_ = 0;
};

}  // namespace mirrortrain::data
