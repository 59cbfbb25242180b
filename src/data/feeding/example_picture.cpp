#include "data/feeding/example_picture.h"

#include <algorithm>
#include <cmath>

#include "data/reading/example_maker.h"

namespace mirrortrain::data {
namespace {

/// Before any preprocessing.
std::vector<float> features_of(const Dataset& dataset, std::size_t input, std::int64_t row) {
  std::vector<float> numbers(static_cast<std::size_t>(dataset.features(input).row_elements()));
  ExampleMaker(dataset, input, {}, 0).make({.row = row}, numbers);
  return numbers;
}

/// The values mapped to black and to white.
std::pair<float, float> range_of(std::span<const float> numbers, bool are_bytes) {
  const auto [least, largest] = std::ranges::minmax(numbers);
  if (are_bytes) return {0.0f, 255.0f};
  if (least >= 0 && largest <= 1) return {0.0f, 1.0f};
  if (least >= 0 && largest <= 255) return {0.0f, 255.0f};
  return {least, largest};
}

}  // namespace

bool holds_pictures(const Dataset& dataset, std::size_t input, const Shape& shape) {
  const Shape row = dataset.features(input).row_shape();
  if (row.rank() == 3) return row[2] == 1 || row[2] == 3;
  return row.rank() == 2 && (dataset.features(input).dtype == DType::kUint8 || shape.rank() == 3);
}

Picture picture_of(const Dataset& dataset, std::size_t input, std::int64_t row, std::int64_t most_pixels) {
  return picture_of(features_of(dataset, input, row), dataset.features(input).row_shape(),
                    dataset.features(input).dtype == DType::kUint8, most_pixels);
}

Picture picture_of(std::span<const float> numbers, const Shape& shape, bool are_bytes, std::int64_t most_pixels) {
  const std::int64_t height = shape[0], width = shape[1], channels = shape.rank() == 3 ? shape[2] : 1;
  const auto [black, white] = range_of(numbers, are_bytes);
  const float scale = white > black ? 255 / (white - black) : 0;

  // Each pixel is the mean of a square of the example's pixels.
  const std::int64_t factor = std::max<std::int64_t>(1, (std::max(height, width) + most_pixels - 1) / most_pixels);
  Picture picture{(height + factor - 1) / factor, (width + factor - 1) / factor, channels, {}};
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        float sum = 0;
        std::int64_t count = 0;
        for (std::int64_t from_y = y * factor; from_y < std::min((y + 1) * factor, height); ++from_y) {
          for (std::int64_t from_x = x * factor; from_x < std::min((x + 1) * factor, width); ++from_x, ++count) {
            sum += numbers[static_cast<std::size_t>((from_y * width + from_x) * channels + channel)];
          }
        }
        const float level = (sum / static_cast<float>(count) - black) * scale;
        picture.pixels.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0f, 255.0f))));
      }
    }
  }
  return picture;
}

}  // namespace mirrortrain::data
