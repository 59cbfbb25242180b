#include "data/preprocessing/preprocessing.h"

#include <doctest/doctest.h>

#include <cmath>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

Normalization normalization(PerChannel mean, PerChannel variance) {
  Normalization step;
  step.mean.value = std::move(mean);
  step.variance.value = std::move(variance);
  return step;
}

Affine folded(const std::vector<PreprocessingStep>& steps) { return fold(steps); }

double apply(const Affine& affine, double x, std::size_t channel = 0) {
  return (x - affine.shift[channel]) * affine.scale[channel] + affine.offset[channel];
}

TEST_CASE("no preprocessing leaves features as they are") { CHECK(apply(folded({}), 3.5) == 3.5); }

TEST_CASE("steps are applied in their order") {
  const Affine affine = folded({Rescaling{{}, 2, 1}, normalization(3.0, 4.0), Rescaling{{}, 10, 5}});
  CHECK(apply(affine, 7) == doctest::Approx(((7 * 2 + 1) - 3) / 2.0 * 10 + 5));
  const Affine other = folded({normalization(3.0, 4.0), Rescaling{{}, 2, 1}});
  CHECK(apply(other, 7) == doctest::Approx((7 - 3) / 2.0 * 2 + 1));
}

TEST_CASE("normalization takes numbers per channel, and one number for all") {
  const Affine affine = folded({Rescaling{{}, 0.5, 0}, normalization(std::vector<double>{1, 2, 3}, 4.0)});
  REQUIRE(affine.period() == 3);
  CHECK(apply(affine, 8, 0) == doctest::Approx((4 - 1) / 2.0));
  CHECK(apply(affine, 8, 2) == doctest::Approx((4 - 3) / 2.0));
}

TEST_CASE("a mean much larger than the deviation is subtracted first") {
  const Affine affine = folded({normalization(1e7, 1.0)});
  const float x = 10'000'003, y = (x - static_cast<float>(affine.shift[0])) * static_cast<float>(affine.scale[0]);
  CHECK(y == 3.0f);
}

TEST_CASE("a variance of zero and a scale of zero give finite numbers") {
  CHECK(std::isfinite(apply(folded({normalization(1.0, 0.0)}), 1)));
  CHECK(apply(folded({Rescaling{{}, 0, 5}, normalization(3.0, 4.0)}), 123) == doctest::Approx(1));
}

TEST_CASE("steps with different numbers of channels are refused") {
  const std::vector<PreprocessingStep> steps{normalization(std::vector<double>{1, 2}, 1.0),
                                             normalization(std::vector<double>{1, 2, 3}, 1.0)};
  CHECK(contains(error_text([&] { fold(steps); }), "2 channels and another one 3"));
}

}  // namespace
}  // namespace mirrortrain::data
