#include "data/arrays/synthetic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

Synthetic source(std::int64_t examples, std::vector<std::int64_t> shape) {
  Synthetic synthetic;
  synthetic.examples = examples;
  synthetic.shape.value = std::move(shape);
  return synthetic;
}

TEST_CASE("synthetic class labels fall in every class and follow from the features") {
  Synthetic options = source(2000, {4, 2});
  options.only.classes.value = 3;
  const Examples examples = read(options);
  CHECK(examples.inputs[0].array.shape == Shape{2000, 4, 2});
  CHECK(examples.outputs[0].array.shape == Shape{2000});
  const auto labels = examples.outputs[0].array.span<std::int32_t>();
  for (int label = 0; label < 3; ++label) CHECK(std::count(labels.begin(), labels.end(), label) > 200);
  const auto features = examples.inputs[0].array.span<float>();
  CHECK(std::all_of(features.begin(), features.end(), [](float x) { return x >= 0 && x < 1; }));

  // Examples whose features are close have the same label: the nearest neighbour guesses well.
  int right = 0;
  for (std::size_t a = 0; a < 200; ++a) {
    double best = 1e9;
    std::size_t nearest = 0;
    for (std::size_t b = 200; b < 2000; ++b) {
      double distance = 0;
      for (std::size_t i = 0; i < 8; ++i) distance += std::pow(features[a * 8 + i] - features[b * 8 + i], 2);
      if (distance < best) best = distance, nearest = b;
    }
    right += labels[a] == labels[nearest];
  }
  CHECK(right > 130);
}

TEST_CASE("synthetic class labels of a shape are class numbers, each with a function of its own") {
  Synthetic options = source(500, {6});
  options.only.classes.value = 3;
  options.only.label_shape.value = {2, 2};
  const Examples examples = read(options);
  CHECK(examples.outputs[0].array.shape == Shape{500, 2, 2});
  const auto labels = examples.outputs[0].array.span<std::int32_t>();
  for (std::size_t position = 0; position < 4; ++position) {
    std::array<int, 3> counts{};
    int equal = 0;
    for (std::size_t row = 0; row < 500; ++row) {
      ++counts.at(static_cast<std::size_t>(labels[4 * row + position]));
      equal += labels[4 * row + position] == labels[4 * row + (position + 1) % 4] ? 1 : 0;
    }
    for (const int count : counts) CHECK(count > 25);
    CHECK(equal < 400);
  }
}

TEST_CASE("synthetic examples depend on the seed alone") {
  Synthetic options = source(10, {5});
  options.only.label_shape.value = {2, 3};
  const Examples a = read(options), b = read(options);
  CHECK(a.outputs[0].array.shape == Shape{10, 2, 3});
  CHECK(std::ranges::equal(a.inputs[0].array.span<float>(), b.inputs[0].array.span<float>()));
  CHECK(std::ranges::equal(a.outputs[0].array.span<float>(), b.outputs[0].array.span<float>()));
  options.seed = 1;
  CHECK_FALSE(std::ranges::equal(a.inputs[0].array.span<float>(), read(options).inputs[0].array.span<float>()));
  options.seed = 0;
  options.examples = 5;  // fewer examples are the first ones
  CHECK(std::ranges::equal(a.inputs[0].array.span<float>().first(25), read(options).inputs[0].array.span<float>()));
}

TEST_CASE("synthetic data larger than memory is refused") {
  Synthetic options = source(1 << 30, {1 << 20});
  options.only.classes.value = 2;
  CHECK(contains(error_text([&] { read(options); }), "not enough memory"));
}

}  // namespace
}  // namespace mirrortrain::data
