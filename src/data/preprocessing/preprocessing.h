#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/example_spec.h"
#include "data/preprocessing/binning.h"
#include "data/preprocessing/color_preprocessing.h"
#include "data/preprocessing/composed_preprocessing.h"
#include "data/preprocessing/mixing_preprocessing.h"
#include "data/preprocessing/normalization.h"
#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

/// features x scale + offset
struct Rescaling : OfInput {
  static constexpr std::string_view kName = "rescaling";
  static constexpr std::string_view kAliases = "scale, rescale";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"to_tensor, to_dtype, pil_to_tensor",
                                      "write - rescaling: {scale: 0.00392156862745098}, which maps bytes to "
                                      "[0, 1]; pictures are [height, width, channels]"}});
  double scale = 1, offset = 0;
  static config::Section<Rescaling> section();
};

/// Converts class labels to one-hot vectors.
struct OneHot {
  static constexpr std::string_view kName = "one_hot";
  config::Located<std::int64_t> depth;
  config::Located<std::optional<std::string>> output;  ///< of the model; null: the only one
  static config::Section<OneHot> section();
};

/// The list of all preprocessing transforms.
struct PreprocessingSteps
    : config::Types<Rescaling, Normalization, OneHot, Discretization, Hashing, Resizing, CenterCrop, RandomFlip,
                    RandomCrop, RandomTranslation, RandomRotation, RandomZoom, RandomShear, RandomPerspective,
                    RandomElasticTransform, RandomContrast, RandomBrightness, RandomSaturation, RandomHue,
                    RandomColorDegeneration, RandomColorJitter, RandomGrayscale, RandomInvert, RandomPosterization,
                    RandomSharpness, RandomGaussianBlur, RandomErasing, Solarization, AutoContrast, Equalization,
                    ContrastLimitedAdaptiveHistogramEqualization, RandAugment, AugMix, MixUp, CutMix> {};
struct PreprocessingStep : config::OneOf<PreprocessingSteps> {
  using OneOf::OneOf;
};

/// The transform as one that mixes examples, or null.
const Mixing* as_mixing(const PreprocessingStep& step);
/// The transform as one that puts numbers into bins, or null.
const Binning* as_binning(const PreprocessingStep& step);
/// How many bins it has, at most if it is not yet adapted; 0 for other transforms.
std::int64_t bins_of(const PreprocessingStep& step);
/// Whether a transform is for pictures one by one, rather than for individual numbers.
bool is_of_pictures(const PreprocessingStep& step);
/// Whether a transform that is not random acts at every split.
bool always_acts(const PreprocessingStep& step);
/// Whether it changes the colors of pictures alone, so that pictures that are labels stay as they are.
bool is_of_colors(const PreprocessingStep& step);

/// All transforms of individual features combined: y = (x - shift) * scale + offset. One entry each, or one per number
/// of a period, such as the channels, that repeats along an example. Subtracting first preserves digits that a mean
/// much larger than the deviation would round away.
struct Affine {
  std::vector<double> shift{0.0}, scale{1.0}, offset{0.0};
  std::size_t period() const { return shift.size(); }
  /// Whether float32 would lose too much precision in the difference to a shift that is many deviations from 0, like
  /// those of times and years.
  bool needs_double() const;
};

/// The transforms as acting_steps() makes them. Throws Error if the period of one is no multiple of another's. None may
/// be for pictures, bin, or be not yet adapted.
Affine fold(std::span<const PreprocessingStep> steps);

/// The transforms of an input's features, in their order.
std::vector<PreprocessingStep> steps_of_input(const std::vector<PreprocessingStep>& steps, std::string_view input);

/// The transforms that mix examples, in their order.
std::vector<PreprocessingStep> mixing_steps(const std::vector<PreprocessingStep>& steps);
/// The first that mixes an input's features, or null.
const PreprocessingStep* find_mixing(const std::vector<PreprocessingStep>& steps, std::string_view input);
/// How many transforms of an input's features come before the last one that mixes them; 0 if none does.
std::size_t steps_before_mixing(const std::vector<PreprocessingStep>& steps, std::string_view input);

/// The one_hot transform of an output's labels, or null.
const OneHot* find_one_hot(const std::vector<PreprocessingStep>& steps, std::string_view output);
/// What the data have to be as they are read, where transforms put numbers of inputs into bins: those may be any.
ExampleSpec spec_before_bins(ExampleSpec spec, const std::vector<PreprocessingStep>& steps);
/// What labels have to be, with the transforms of labels. `spec`: null for no requirements; else it must outlive the
/// result.
Wanted wanted_by(const ExampleSpec* spec, const std::vector<PreprocessingStep>& steps);

}  // namespace mirrortrain::data

extern template class mirrortrain::config::OneOf<mirrortrain::data::PreprocessingSteps>;

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::PreprocessingStep> {
  static constexpr std::string_view noun = "a preprocessing transform";
  static constexpr auto advice = std::to_array<Advice>(
      {{"hashed_crossing",
        "columns are crossed where the table is read: crosses: {NAME: {columns: [a, b], num_bins: 100}} of its source; "
        "leave it out"}});
};

extern template const mirrortrain::config::detail::Choice&
mirrortrain::config::detail::choice_of<mirrortrain::data::PreprocessingStep>();
