// Transforms of colors that follow a rescaling: what is said of their value_range.
#include <doctest/doctest.h>

#include "error_text.h"
#include "train/session/said_before_training.h"

namespace mirrortrain {
namespace {

/// Twelve pictures [2, 2, 3] whose pixels go from 0 to `largest`.
std::string pictures(double largest, const std::string& preprocessing) {
  const std::string features = flow_list(12, [&](int picture) {
    return flow_list(2, [&](int row) {
      return flow_list(2, [&](int column) {
        return flow_list(3, [&](int channel) {
          return fmt::format("{}", largest * ((picture + 5 * row + 3 * column + channel) % 12) / 11);
        });
      });
    });
  });
  const std::string labels = flow_list(12, [](int picture) { return fmt::format("{}", picture % 2); });
  return fmt::format(R"(
data:
  global_batch_size: 4
  train: {{format: inline, features: {}, labels: {}}}
  preprocessing: {}
model:
  input_shape: [2, 2, 3]
  layers: [flatten, dense: {{units: 2}}]
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: sgd
training: {{epochs: 1}}
)",
                     features, labels, preprocessing);
}

constexpr const char* kBytes = "rescaling: {scale: 0.00392156862745098}";

TEST_CASE("colors that are changed by the range of bytes after a rescaling are an error") {
  for (const char* const step :
       {"random_brightness: {factor: 0.2}", "random_posterization: {factor: 4}", "solarization", "equalization",
        "auto_contrast", "contrast_limited_adaptive_histogram_equalization", "random_invert", "random_erasing",
        "rand_augment", "aug_mix", "random_color_jitter: {brightness_factor: 0.2}"}) {
    CAPTURE(step);
    const std::string said = said_before_training(pictures(255, fmt::format("[{}, {}]", kBytes, step)));
    CHECK_MESSAGE(contains(said,
                           "gets values from 0 to 1 behind rescaling, but value_range is [0, 255] by default, by which "
                           "it changes them; move it before rescaling, or write value_range: [0, 1]"),
                  said);
    CHECK(contains(said, "1 error"));
    CHECK(said_before_training(pictures(255, fmt::format("[{}, {}]", step, kBytes))) == "");
  }
}

TEST_CASE("the range of pixels is that of the data where nothing rescales them") {
  const std::string said = said_before_training(pictures(1, "[random_brightness: {factor: 0.2}]"));
  CHECK_MESSAGE(contains(said, "gets values from 0 to 1, but value_range is [0, 255] by default"), said);
  CHECK(contains(said, "; write value_range: [0, 1]"));
  CHECK(said_before_training(pictures(1, "[random_brightness: {factor: 0.2, value_range: [0, 1]}]")) == "");
}

TEST_CASE("a range that is written, or that only cuts, is a warning where it takes pixels away") {
  const std::string written = said_before_training(
      pictures(255, fmt::format("[{}, random_brightness: {{factor: 0.2, value_range: [0, 255]}}]", kBytes)));
  CHECK_MESSAGE(contains(written, "warning: "), written);
  CHECK(contains(written, "value_range is [0, 255], by which it changes them"));
  const std::string narrow = said_before_training(
      pictures(255, "[random_contrast: {factor: 0.2, value_range: [0, 1]}, " + std::string(kBytes) + "]"));
  CHECK_MESSAGE(contains(narrow, "gets values from 0 to 255, but value_range is [0, 1]"), narrow);
  const std::string normalized =
      said_before_training(pictures(255, "[normalization: {adapt: true}, random_contrast: {factor: 0.2}]"));
  CHECK_MESSAGE(contains(normalized, "behind normalization, but value_range is [0, 255]"), normalized);
  CHECK(contains(normalized, "warning: "));
  for (const char* const step : {"random_contrast: {factor: 0.2}", "random_saturation: {factor: 0.5}",
                                 "random_gaussian_blur", "random_color_jitter: {contrast_factor: 0.2}"}) {
    CAPTURE(step);
    CHECK(said_before_training(pictures(255, fmt::format("[{}, {}]", kBytes, step))) == "");
  }
}

}  // namespace
}  // namespace mirrortrain
