#include "train/inference/worst_mistakes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/pictures/picture.h"

namespace mirrortrain {
namespace {

/// Rows of 1 x 2 bytes, which say the row.
data::Dataset pictures_of(std::int64_t rows) {
  data::Examples examples = data::examples_of(data::Array(DType::kUint8, Shape{rows, 1, 2}, "x"),
                                              data::Array(DType::kInt32, Shape{rows}, "y"));
  auto pixels = examples.inputs[0].array.span<std::uint8_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  std::ranges::fill(examples.outputs[0].array.span<std::int32_t>(), 0);
  return data::Dataset(std::move(examples));
}

TEST_CASE("the mistakes of which the model was surest come first, with their pictures") {
  const OutputMeaning meaning{OutputMeaning::Kind::kClasses, false, Shape{3}, {"ant", "bee"}};
  WorstMistakes worst(meaning);
  const auto add = [&](std::int64_t row, std::int64_t truth, std::vector<float> output) {
    worst.add(row, truth, output);
  };
  add(0, 0, {0.9f, 0.1f, 0.0f});  // right
  add(1, 0, {0.3f, 0.7f, 0.0f});
  add(2, 1, {0.05f, 0.0f, 0.95f});
  add(3, 2, {0.7f, 0.3f, 0.0f});
  add(4, 2, {std::nanf(""), std::nanf(""), std::nanf("")});
  const auto mistakes = worst.pictures(pictures_of(5), 0);
  REQUIRE(mistakes.size() == 4);
  CHECK(mistakes[0].row == 2);
  CHECK(mistakes[0].truth == "bee");
  CHECK(mistakes[0].predicted == "2");  // without a name
  CHECK(mistakes[0].probability == doctest::Approx(0.95));
  CHECK(mistakes[1].row == 1);  // of equal ones the first
  CHECK(mistakes[2].row == 3);
  CHECK(mistakes[3].row == 4);
  CHECK(mistakes[3].probability == 0);
  CHECK(data::decode_picture(mistakes[0].png, 1, "a").pixels == std::vector<std::uint8_t>{4, 5});
}

TEST_CASE("of a yes or no the probability is that of the answer") {
  const OutputMeaning meaning{OutputMeaning::Kind::kYesOrNo, true, Shape{1}, {}};
  WorstMistakes worst(meaning);
  worst.add(0, 1, std::vector<float>{-std::log(3.0f)});
  worst.add(1, 0, std::vector<float>{std::log(9.0f)});
  const auto mistakes = worst.pictures(pictures_of(2), 0);
  REQUIRE(mistakes.size() == 2);
  CHECK(mistakes[0].probability == doctest::Approx(0.9));
  CHECK(mistakes[0].predicted == "1");
  CHECK(mistakes[1].probability == doctest::Approx(0.75));
  CHECK(mistakes[1].predicted == "0");
}

TEST_CASE("a few mistakes are kept, the worst") {
  const OutputMeaning meaning{OutputMeaning::Kind::kYesOrNo, false, Shape{1}, {}};
  WorstMistakes worst(meaning);
  for (std::int64_t row = 0; row < 100; ++row) {
    worst.add(row, 0, std::vector<float>{0.51f + 0.004f * static_cast<float>(row)});
  }
  const auto mistakes = worst.pictures(pictures_of(100), 0);
  REQUIRE(mistakes.size() == WorstMistakes::kMost);
  CHECK(mistakes.front().row == 99);
  CHECK(mistakes.back().row == 76);
}

}  // namespace
}  // namespace mirrortrain
