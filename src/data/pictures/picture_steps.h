#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "base/shape.h"
#include "data/example_source.h"
#include "data/pictures/resample.h"
#include "data/preprocessing/preprocessing.h"

namespace mirrortrain::data {

/// Why examples of a shape are no pictures for a step, or "". Pictures are [height, width, channels], or [height,
/// width] for one channel.
std::string picture_mismatch(const PreprocessingStep& step, const Shape& example);

/// Where a step on pictures was written, and its key.
struct StepPlace {
  config::Place place;
  std::string path;
};
StepPlace located(const PreprocessingStep& step);

/// The size that a step gives pictures, without channels; nothing where it leaves their size.
std::optional<Extents> size_after(const PreprocessingStep& step);

/// The steps that change something in examples of a shape. Outside of training those that draw do nothing, but that
/// random_crop gives pictures the size that they have in training.
std::vector<PreprocessingStep> acting_steps(const std::vector<PreprocessingStep>& steps, const Shape& example,
                                            bool trains);

/// The shape of examples after the steps. Throws KeyError where they are no pictures.
Shape shape_after(const std::vector<PreprocessingStep>& steps, const Shape& example);

/// What a step draws for an example in an epoch: a pure function of seed, step, epoch and example.
struct Draw {
  bool trains = false;
  Philox::Words words{};

  /// In [low, high).
  float between(std::size_t word, double low, double high) const {
    return static_cast<float>(low + (high - low) * static_cast<double>(uniform_from_bits(words.word[word])));
  }
  /// In [0, bound).
  std::int64_t below(std::size_t word, std::int64_t bound) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(words.word[word]) * static_cast<std::uint64_t>(bound) >>
                                     32);
  }
};

/// A step made ready for pictures of one size.
class PictureStep {
 public:
  explicit PictureStep(const Extents& result) : result_(result) {}
  virtual ~PictureStep() = default;
  const Extents& result() const { return result_; }
  /// Writes the picture, float32 [height, width, channels], to another place. May run in many threads at once.
  /// Whether it changes the picture: else it is not applied.
  virtual bool acts(const Draw&) const { return true; }
  /// The part of the picture that it takes, where that is all it does.
  virtual std::optional<PictureWindow> window(const Draw&) const { return std::nullopt; }
  virtual void apply(const Draw& draw, const float* from, float* to) const = 0;

 private:
  Extents result_;
};

/// Preprocessing steps on pictures of one size, one after the other.
class PictureSteps {
 public:
  /// Throws KeyError where examples of the shape are no pictures.
  PictureSteps(const std::vector<PreprocessingStep>& steps, const Shape& example, std::uint64_t seed);

  bool empty() const { return steps_.empty(); }
  std::int64_t elements_from() const { return from_; }
  /// Epoch 0 is none: nothing is drawn. May run in many threads at once.
  void apply(std::int64_t example, std::int64_t epoch, const float* from, float* to) const;

  /// The part of the example that the first step takes, where that is all it does: whoever reads no more than that
  /// applies what is behind it.
  std::optional<PictureWindow> first_window(std::int64_t example, std::int64_t epoch) const;
  void apply_behind_first(std::int64_t example, std::int64_t epoch, const float* from, float* to) const;
  std::int64_t most_elements() const { return most_elements_; }

 private:
  struct Step;
  static Draw draw_of(const Step& step, std::int64_t example, std::int64_t epoch);
  void apply(std::size_t first, std::int64_t example, std::int64_t epoch, const float* from, float* to) const;

  struct Step {
    Philox random;
    std::unique_ptr<PictureStep> step;
  };
  std::vector<Step> steps_;
  std::int64_t from_ = 0, most_elements_ = 0;
};

}  // namespace mirrortrain::data
