#include "data/preprocessing/picture_preprocessing.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

const auto kExtent = config::between(1, 1 << 15);
const auto kTurn = config::between(-1, 1);

}  // namespace

Bounds bounds_of(const Factor& factor) {
  if (const auto* both = std::get_if<std::array<double, 2>>(&factor)) {
    return {std::min((*both)[0], (*both)[1]), std::max((*both)[0], (*both)[1])};
  }
  const double around = std::abs(std::get<double>(factor));
  return {-around, around};
}

config::Section<Resizing> Resizing::section() {
  return config::Section<Resizing>("Resizes pictures to `height` x `width`.")
      .advice("fill_mode", "what pad_to_aspect_ratio adds is always fill_value; leave it out")
      .key("height", &Resizing::height, "Height in pixels.", config::required, kExtent)
      .key("width", &Resizing::width, "Width in pixels.", config::required, kExtent)
      .key("interpolation", &Resizing::interpolation, "How pixels are made of those around them.",
           kInterpolationAliases)
      .key("crop_to_aspect_ratio", &Resizing::crop_to_aspect_ratio,
           "Whether to cut what does not fit the new ratio of height and width, rather than to distort.")
      .key("pad_to_aspect_ratio", &Resizing::pad_to_aspect_ratio,
           "Whether to fill what is missing for the new ratio on both sides, rather than to distort.")
      .key("fill_value", &Resizing::fill_value, "What `pad_to_aspect_ratio` fills with.")
      .key("antialias", &Resizing::antialias,
           "Whether a pixel of a smaller picture is made of all that it covers. `nearest` has no use for it.")
      .check("pad_to_aspect_ratio",
             [](const Resizing& step) -> std::string {
               if (!step.crop_to_aspect_ratio || !step.pad_to_aspect_ratio) return "";
               return "a picture is cropped or padded to the ratio, not both; leave one out";
             })
      .include<OfInput>();
}

config::Section<CenterCrop> CenterCrop::section() {
  return config::Section<CenterCrop>(
             "Takes the middle of pictures. One that is smaller is cropped to the ratio and resized.")
      .key("height", &CenterCrop::height, "Height in pixels.", config::required, kExtent)
      .key("width", &CenterCrop::width, "Width in pixels.", config::required, kExtent)
      .include<OfInput>();
}

config::Section<RandomFlip> RandomFlip::section() {
  return config::Section<RandomFlip>("Flips every second training picture, drawn at random.")
      .key("mode", &RandomFlip::mode,
           "Which ends change places: left and right, top and bottom, or both of them at once.")
      .include<OfInput>();
}

config::Section<RandomCrop> RandomCrop::section() {
  return config::Section<RandomCrop>(
             "Takes a window of training pictures from a random place. A picture that is smaller, and every one "
             "outside of training, is cropped to the window's ratio and resized.")
      .key("height", &RandomCrop::height, "Height in pixels.", config::required, kExtent)
      .key("width", &RandomCrop::width, "Width in pixels.", config::required, kExtent)
      .key("padding", &RandomCrop::padding, "Pixels of zeros put around training pictures first.",
           config::between(0, 1 << 15), config::aliases("pad"))
      .include<OfInput>();
}

config::Section<Filling> Filling::section() {
  return config::Section<Filling>("How moved pictures are filled.")
      .key("fill_mode", &Filling::fill_mode,
           "Pixels beyond the edges: `fill_value` (constant), the pixel at the edge (nearest), the picture mirrored "
           "(reflect) or repeated (wrap).")
      .key("interpolation", &Filling::interpolation, "How pixels are made of those around them.", kInterpolationAliases)
      .key("fill_value", &Filling::fill_value, "For `constant`.");
}

config::Section<RandomTranslation> RandomTranslation::section() {
  return config::Section<RandomTranslation>("Moves training pictures by a random part of their size.")
      .key("height_factor", &RandomTranslation::height_factor,
           "How far down, as a part of the height: [lower, upper], or f for [-f, f].", config::required, kTurn)
      .key("width_factor", &RandomTranslation::width_factor,
           "How far to the right, as a part of the width: [lower, upper], or f for [-f, f].", config::required, kTurn)
      .include<Filling>()
      .include<OfInput>();
}

config::Section<RandomRotation> RandomRotation::section() {
  return config::Section<RandomRotation>("Turns training pictures around their middle by a random angle.")
      .key("factor", &RandomRotation::factor,
           "How far counterclockwise, as a part of a full turn: [lower, upper], or f for [-f, f].", config::required,
           kTurn, config::advice("a number", "it is a part of a full turn, degrees / 360: 0.0833 for 30 degrees"),
           config::aliases("degrees, angle"))
      .include<Filling>()
      .include<OfInput>();
}

config::Section<RandomZoom> RandomZoom::section() {
  return config::Section<RandomZoom>("Enlarges or reduces training pictures around their middle by a random factor.")
      .key("height_factor", &RandomZoom::height_factor,
           "How much is seen, as a part of the height: -0.2 enlarges to 80 %, 0.2 reduces to 120 %; [lower, upper], or "
           "f for [-f, f].",
           config::required, kTurn, config::aliases("factor, zoom_factor, zoom"))
      .key("width_factor", &RandomZoom::width_factor, "The same of the width; null: the height's, drawn once.", kTurn)
      .include<Filling>()
      .include<OfInput>();
}

config::Section<RandomShear> RandomShear::section() {
  return config::Section<RandomShear>("Shears training pictures by a random amount, to either side.")
      .key("x_factor", &RandomShear::x_factor,
           "How far a row moves for each row above it: [lower, upper], or f for [0, f].", config::between(0, 1))
      .key("y_factor", &RandomShear::y_factor,
           "How far a column moves for each column before it: [lower, upper], or f for [0, f].", config::between(0, 1))
      .include<Filling>()
      .include<OfInput>();
}

config::Section<RandomPerspective> RandomPerspective::section() {
  return config::Section<RandomPerspective>("Shows some training pictures in perspective: three corners are moved.")
      .key("factor", &RandomPerspective::factor,
           "The probability: a number p for one drawn from 0 to p, or [lower, upper].", config::between(0, 1))
      .key("scale", &RandomPerspective::scale,
           "How far corners move, as a part of their distance from the upper left one: from -scale / 2 to scale / 2.",
           config::between(0, 1))
      .key("interpolation", &RandomPerspective::interpolation, "How pixels are made of those around them.",
           kInterpolationAliases)
      .key("fill_value", &RandomPerspective::fill_value, "Value of pixels beyond the edges.")
      .include<OfInput>();
}

config::Section<RandomElasticTransform> RandomElasticTransform::section() {
  return config::Section<RandomElasticTransform>("Distorts some training pictures by a smooth random field.")
      .key("factor", &RandomElasticTransform::factor,
           "The probability: a number p for one drawn from 0 to p, or [lower, upper].", config::between(0, 1))
      .key("scale", &RandomElasticTransform::scale, "How much, and how smoothly: [lower, upper], or f for [0, f].",
           config::between(0, 1))
      .key("value_range", &RandomElasticTransform::value_range,
           "The least and the largest value of the pixels that this transform gets; what goes beyond is cut.")
      .check("value_range",
             [](const RandomElasticTransform& step) -> std::string {
               return step.value_range[0] < step.value_range[1] ? "" : "expected the least value first";
             })
      .include<Filling>()
      .include<OfInput>();
}

config::Section<RandomContrast> RandomContrast::section() {
  return config::Section<RandomContrast>(
             "Multiplies the distances of training pictures' pixels from their channel's mean by a random number.")
      .key("factor", &RandomContrast::factor,
           "[lower, upper] for a number from 1 - lower to 1 + upper, or f for [f, f].", config::required,
           config::between(0, 1), config::aliases("contrast"))
      .key("value_range", &RandomContrast::value_range,
           "The least and the largest value of the pixels that this transform gets; what goes beyond is cut.")
      .check("value_range",
             [](const RandomContrast& step) -> std::string {
               return step.value_range[0] < step.value_range[1] ? "" : "expected the least value first";
             })
      .include<OfInput>();
}

}  // namespace mirrortrain::data
