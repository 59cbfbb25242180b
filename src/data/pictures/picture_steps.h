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

/// Why examples of a shape are not pictures for a transform, or "". Pictures are [height, width, channels], or [height,
/// width] for one channel.
std::string picture_mismatch(const PreprocessingStep& step, const Shape& example);

/// The place of a transform of pictures, and its key.
struct StepPlace {
  config::Place place;
  std::string path;
};
StepPlace located(const PreprocessingStep& step);

/// The size of pictures after a transform, without channels; nothing if it keeps their size.
std::optional<Extents> size_after(const PreprocessingStep& step);

/// The transforms that change examples of a shape, normalizations as spread() makes them; `wanted`: the input's shape
/// in the model. Outside of training, random transforms do nothing, except that random_crop gives pictures the same
/// size as in training. Throws KeyError if one is not applicable.
std::vector<PreprocessingStep> acting_steps(const std::vector<PreprocessingStep>& steps, const Shape& example,
                                            const Shape& wanted, bool trains);

/// The shape of examples after the transforms. Throws KeyError if they are not pictures.
Shape shape_after(const std::vector<PreprocessingStep>& steps, const Shape& example);

/// An extent of examples that any number fits, -1 in files and protocols.
inline constexpr std::int64_t kAnyExtent = -1;
/// Whether the transforms take pictures of any size: one of them gives them theirs.
bool take_any_size(const std::vector<PreprocessingStep>& steps);
/// The extents of examples before the transforms of an input, of which the model takes `wanted`: those that these do
/// not determine may be any.
std::vector<std::int64_t> shape_before(const std::vector<PreprocessingStep>& steps, const Shape& wanted);

/// A transform's random numbers for an example in an epoch: a pure function of seed, transform, epoch and example.
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

/// [lower, upper], or a number f for [-f, f], but not below `least`: most factors are drawn from 0 to f.
Bounds bounds_from(const Factor& factor, double least = 0);

/// Whether a transform that changes some pictures changes this one: its probability is drawn, too.
bool is_chosen(const Draw& draw, const Bounds& probability);

/// A transform prepared for pictures of one size.
class PictureStep {
 public:
  explicit PictureStep(const Extents& result) : result_(result) {}
  virtual ~PictureStep() = default;
  const Extents& result() const { return result_; }
  /// Whether it changes the picture: otherwise it is not applied.
  virtual bool acts(const Draw&) const { return true; }
  /// The window of the picture that it crops, if it does nothing else.
  virtual std::optional<PictureWindow> window(const Draw&) const { return std::nullopt; }
  /// Writes the picture, float32 [height, width, channels], to another place. Thread-safe.
  virtual void apply(const Draw& draw, const float* from, float* to) const = 0;

 private:
  Extents result_;
};

/// Null for a transform of labels or of several examples, and for one that bins.
std::unique_ptr<PictureStep> make_picture_step(const PreprocessingStep& step, const Extents& from);

/// A sequence of preprocessing transforms for pictures of one size.
class PictureSteps {
 public:
  /// Throws KeyError if examples of the shape are not pictures.
  PictureSteps(const std::vector<PreprocessingStep>& steps, const Shape& example, std::uint64_t seed);

  bool empty() const { return steps_.empty(); }
  /// Epoch 0 is outside of training: random transforms are not applied. Thread-safe.
  void apply(std::int64_t example, std::int64_t epoch, const float* from, float* to) const;

  /// The window of the example that the first transform crops, if it does nothing else: a caller that reads only this
  /// window applies the rest.
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
  std::int64_t most_elements_ = 0;
};

}  // namespace mirrortrain::data
