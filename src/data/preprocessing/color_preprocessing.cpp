#include "data/preprocessing/color_preprocessing.h"

#include <string>

namespace mirrortrain::data {
namespace {

const auto kShare = config::between(0, 1);

/// What most transforms say of their factor.
template <class Step>
config::Section<Step> with_factor(std::string_view help, std::string_view of_factor) {
  return config::Section<Step>(help).key("factor", &Step::factor, of_factor, config::required, kShare,
                                         config::aliases("saturation, hue, sharpness, strength"));
}

/// The probability of a transform that acts on some pictures.
template <class Step>
config::Section<Step> with_probability(std::string_view help) {
  return config::Section<Step>(help).key(
      "factor", &Step::factor, "The probability: a number p for one drawn from 0 to p, or [lower, upper].", kShare);
}

}  // namespace

config::Section<OfRange> OfRange::section() {
  return config::Section<OfRange>("A transform of colors.")
      .key("value_range", &OfRange::value_range, "The least and the largest value of the pixels that this step gets.")
      .check("value_range",
             [](const OfRange& step) -> std::string {
               return step.value_range[0] < step.value_range[1] ? "" : "expected the least value first";
             })
      .include<OfInput>();
}

config::Section<RandomBrightness> RandomBrightness::section() {
  return config::Section<RandomBrightness>("Adds a random number to training pictures; what goes beyond is cut.")
      .key("factor", &RandomBrightness::factor, "How much, as a part of the range: [lower, upper], or f for [-f, f].",
           config::required, config::between(-1, 1), config::aliases("brightness, max_delta"))
      .include<OfRange>();
}

config::Section<RandomSaturation> RandomSaturation::section() {
  return with_factor<RandomSaturation>("Multiplies the saturation of training pictures by a random number.",
                                       "[lower, upper], or f for [0, f]; a number f drawn from it gives f / (1 - f), "
                                       "so that 0.5 changes nothing.")
      .include<OfRange>();
}

config::Section<RandomHue> RandomHue::section() {
  return with_factor<RandomHue>("Turns the hue of training pictures by a random angle, to either side.",
                                "How far, as a part of half a turn: [lower, upper], or f for [0, f].")
      .include<OfRange>();
}

config::Section<RandomColorDegeneration> RandomColorDegeneration::section() {
  return with_factor<RandomColorDegeneration>(
             "Mixes training pictures with their gray.",
             "How much gray: [lower, upper], or f for [0, f]; 0 changes nothing, 1 is gray.")
      .include<OfRange>();
}

config::Section<RandomSharpness> RandomSharpness::section() {
  return with_factor<RandomSharpness>(
             "Sharpens or smooths training pictures.",
             "[lower, upper], or f for [0, f]; below 0.5 smooths, 0.5 changes nothing, above sharpens.")
      .include<OfRange>();
}

config::Section<RandomPosterization> RandomPosterization::section() {
  return config::Section<RandomPosterization>("Keeps the upper bits of training pictures' pixels alone.")
      .key("factor", &RandomPosterization::factor,
           "How many of 8 bits: [lower, upper] for one from lower to upper - 1, or f for [1, f].", config::required,
           config::between(1, 8), config::aliases("bits"))
      .include<OfRange>();
}

config::Section<RandomInvert> RandomInvert::section() {
  return with_probability<RandomInvert>("Subtracts some training pictures from the upper end of the range.")
      .include<OfRange>();
}

config::Section<RandomGrayscale> RandomGrayscale::section() {
  return config::Section<RandomGrayscale>("Makes some training pictures gray.")
      .key("factor", &RandomGrayscale::factor, "The probability.", kShare, config::aliases("p, probability"))
      .include<OfInput>();
}

config::Section<RandomColorJitter> RandomColorJitter::section() {
  using Step = RandomColorJitter;
  return config::Section<Step>("Changes brightness, contrast, saturation and hue of training pictures, in this order.")
      .key("brightness_factor", &Step::brightness_factor, "As `factor` of random_brightness; null: does not change it.",
           config::between(-1, 1), config::aliases("brightness"))
      .key("contrast_factor", &Step::contrast_factor, "As `factor` of random_contrast; null: does not change it.",
           kShare, config::aliases("contrast"))
      .key("saturation_factor", &Step::saturation_factor, "As `factor` of random_saturation; null: does not change it.",
           kShare, config::aliases("saturation"))
      .key("hue_factor", &Step::hue_factor, "As `factor` of random_hue; null: does not change it.", kShare,
           config::aliases("hue"))
      .include<OfRange>();
}

config::Section<Solarization> Solarization::section() {
  return config::Section<Solarization>(
             "Adds a random number to training pictures, and inverts the pixels that are at least another one.")
      .key("addition_factor", &Solarization::addition_factor,
           "Offset of numbers from 0 to 255: from lower to upper * 255, as in Keras; f for [0, f].", kShare)
      .key("threshold_factor", &Solarization::threshold_factor,
           "From where such numbers are inverted: from lower to upper * 255, as in Keras; f for [0, f].", kShare)
      .include<OfRange>();
}

config::Section<AutoContrast> AutoContrast::section() {
  return config::Section<AutoContrast>("Stretches each channel of each picture over the range.").include<OfRange>();
}

config::Section<Equalization> Equalization::section() {
  return config::Section<Equalization>(
             "Equalizes the histogram of each channel of each training picture: its values become equally frequent.")
      .key("bins", &Equalization::bins, "Number of the histogram's bins.", config::between(2, 1 << 16))
      .include<OfRange>();
}

config::Section<ContrastLimitedAdaptiveHistogramEqualization> ContrastLimitedAdaptiveHistogramEqualization::section() {
  using Step = ContrastLimitedAdaptiveHistogramEqualization;
  return config::Section<Step>("Equalizes the histogram of each channel around every pixel, at every split.")
      .key(
          "clip_limit", &Step::clip_limit,
          "How many times the mean of a histogram's bins one of them may have; what goes beyond is spread over all. 0: "
          "any.",
          config::at_least(0))
      .key("tile_grid_size", &Step::tile_grid_size, "How many tiles have a histogram: [rows, columns].",
           config::between(1, 1024))
      .include<OfRange>();
}

config::Section<RandomGaussianBlur> RandomGaussianBlur::section() {
  using Step = RandomGaussianBlur;
  return with_probability<Step>("Blurs some training pictures with a Gaussian kernel.")
      .key("kernel_size", &Step::kernel_size, "Height and width of the kernel, odd, or one number.",
           config::scalar_fills, config::between(1, 255))
      .key("sigma", &Step::sigma, "Standard deviation along each axis, in pixels: [lower, upper], or s for [0, s].",
           config::at_least(0))
      .check("kernel_size",
             [](const Step& step) -> std::string {
               const bool is_odd = step.kernel_size[0] % 2 == 1 && step.kernel_size[1] % 2 == 1;
               return is_odd ? "" : "expected odd numbers, so that a pixel is the middle";
             })
      .include<OfRange>();
}

config::Section<RandomErasing> RandomErasing::section() {
  using Step = RandomErasing;
  return with_probability<Step>("Fills a rectangle at a random place of some training pictures.")
      .key("scale", &Step::scale,
           "Square of the rectangle's part of height and of width, each drawn by itself: [lower, upper], or f for [0, "
           "f].",
           kShare)
      .key("fill_value", &Step::fill_value,
           "A number, or one for each of three channels; null: normal numbers times the range's upper end.")
      .include<OfRange>();
}

}  // namespace mirrortrain::data
