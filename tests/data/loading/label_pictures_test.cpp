// Labels that are pictures: masks and an autoencoder's.
#include "data/loading/label_pictures.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "data/feeding/feeder.h"
#include "data/key_error.h"
#include "data/one_spec.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kExamples = 3;

/// Pictures whose pixels are all different, as features and, divided by `divisor`, as labels.
Examples pictures(const Shape& features, const Shape& labels, int divisor = 1) {
  Examples examples = examples_of(Array(DType::kFloat32, features.with_rows(kExamples), "x"),
                                  Array(DType::kInt32, labels.with_rows(kExamples), "y"));
  const auto pixels = examples.inputs[0].array.span<float>();
  std::iota(pixels.begin(), pixels.end(), 0.0f);
  std::int32_t at = 0;
  for (std::int32_t& label : examples.outputs[0].array.span<std::int32_t>()) label = at++ / divisor;
  return examples;
}

OneSpec numbers(const Shape& features, const Shape& labels) { return {.features = features, .labels = labels}; }
OneSpec classes(const Shape& features, const Shape& labels) {
  return {.features = features, .labels = labels, .labels_dtype = DType::kInt32, .classes = 1000};
}

RandomFlip flip_all() {
  RandomFlip step;
  step.mode.value = FlipMode::kHorizontalAndVertical;
  return step;
}
RandomTranslation translate(double down, double right) {
  RandomTranslation step;
  step.height_factor.value = std::array{down, down};
  step.width_factor = std::array{right, right};
  step.fill_mode = FillMode::kConstant;
  step.fill_value = 77;
  return step;
}
RandomRotation rotate(double turn) {
  RandomRotation step;
  step.factor.value = turn;
  return step;
}
template <class Step>
Step sized(std::int64_t height, std::int64_t width) {
  Step step;
  step.height.value = height;
  step.width = width;
  return step;
}

std::vector<std::string> names(const std::vector<PreprocessingStep>& steps) {
  std::vector<std::string> names;
  for (const auto& step : steps) config::visit([&](const auto& held) { names.emplace_back(held.kName); }, step);
  return names;
}

TEST_CASE("labels that are the features' own pictures stay equal to them, whatever moves both") {
  const Shape shape{6, 6, 1};
  const std::vector<PreprocessingStep> steps = {sized<RandomCrop>(5, 5), flip_all(),   RandomContrast{},
                                                translate(0.2, -0.4),    rotate(0.25), sized<Resizing>(4, 4)};
  std::vector<PreprocessingStep> without_contrast = steps;
  without_contrast.erase(without_contrast.begin() + 2);
  const OneSpec spec = numbers({4, 4, 1}, {4, 4, 1});
  for (const bool contrast : {false, true}) {
    const Feeder feeder(Dataset(pictures(shape, shape)), contrast ? steps : without_contrast, spec,
                        {.trains = true, .seed = 7});
    bool anything_moved = false;
    for (std::int64_t epoch = 1; epoch < 6; ++epoch) {
      const std::vector<std::int64_t> rows{2, 0, 1};
      std::vector<float> x(3 * 16), y(3 * 16);
      feeder.fill(rows,
                  one_batch({DType::kFloat32, {3, 4, 4, 1}, reinterpret_cast<std::byte*>(x.data())},
                            {DType::kFloat32, {3, 4, 4, 1}, reinterpret_cast<std::byte*>(y.data())}, nullptr),
                  epoch);
      if (!contrast) CHECK(x == y);
      anything_moved = anything_moved || y[0] != 72;
      std::vector<float> staged_x(3 * 16), staged_y(3 * 16);  // as for a GPU
      std::byte* const inputs[] = {reinterpret_cast<std::byte*>(staged_x.data())};
      const Feeder::LabelCopies outputs[] = {{reinterpret_cast<std::byte*>(staged_y.data())}};
      feeder.copy_examples({rows, 0, rows.size()}, inputs, outputs, epoch);
      CHECK(staged_x == x);
      CHECK(staged_y == y);
    }
    CHECK(anything_moved);
  }
}

TEST_CASE("labels that are pictures cannot follow aug_mix, which is refused") {
  AugMix step;
  CHECK(contains(error_text([&] {
                   Feeder(Dataset(pictures({6, 6, 3}, {6, 6})), {step}, numbers({6, 6, 3}, {6, 6}), {.trains = true});
                 }),
                 "use rand_augment, which moves them, too"));
}

TEST_CASE("classes are those of the nearest pixel, and 0 where a picture is filled") {
  const Shape shape{8, 8};
  const Feeder feeder(Dataset(pictures(shape, shape, 64)), {translate(0.3, 0), rotate(0.1)}, classes({8, 8, 1}, {8, 8}),
                      {.trains = true, .seed = 3});
  const std::vector<std::int64_t> rows{2, 1};
  std::vector<float> x(128);
  std::vector<std::int32_t> y(128);
  feeder.fill(rows,
              one_batch({DType::kFloat32, {2, 8, 8, 1}, reinterpret_cast<std::byte*>(x.data())},
                        {DType::kInt32, {2, 8, 8}, reinterpret_cast<std::byte*>(y.data())}, nullptr),
              1);
  const auto count = [&](std::size_t row, std::int32_t label) {
    return std::count(y.begin() + static_cast<std::ptrdiff_t>(row) * 64,
                      y.begin() + static_cast<std::ptrdiff_t>(row + 1) * 64, label);
  };
  CHECK(count(0, 2) + count(0, 0) == 64);
  CHECK(count(1, 1) + count(1, 0) == 64);
  CHECK(count(0, 0) > 0);
  CHECK(count(0, 2) > 32);
}

TEST_CASE("outside of training labels get the size of their features alone") {
  const Feeder feeder(Dataset(pictures({6, 6, 3}, {6, 6})), {flip_all(), sized<CenterCrop>(2, 2)},
                      classes({2, 2, 3}, {2, 2}), {.trains = false});
  std::vector<float> x(12);
  std::vector<std::int32_t> y(4);
  feeder.fill(std::vector<std::int64_t>{1},
              one_batch({DType::kFloat32, {1, 2, 2, 3}, reinterpret_cast<std::byte*>(x.data())},
                        {DType::kInt32, {1, 2, 2}, reinterpret_cast<std::byte*>(y.data())}));
  CHECK(y == std::vector<std::int32_t>{50, 51, 56, 57});
  CHECK(feeder.labels(0).row_shape() == Shape{2, 2, 1});
}

TEST_CASE("which steps labels go through follows from their shape and the model's output") {
  const auto steps_of = [](const std::vector<PreprocessingStep>& steps, const Shape& features, const Shape& labels,
                           const Shape& output) {
    const ExampleSpec spec = numbers({}, output);
    return names(label_steps(steps, features, labels, 0, wanted_by(&spec, {})));
  };
  using Names = std::vector<std::string>;
  // No pictures.
  CHECK(steps_of({flip_all()}, {28, 28, 1}, {}, {}).empty());
  CHECK(steps_of({flip_all()}, {28, 28, 1}, {10}, {10}).empty());
  CHECK(steps_of({flip_all()}, {28, 28, 1}, {5, 10}, {5, 10}).empty());
  CHECK(steps_of({flip_all()}, {28, 28, 1}, {4, 4}, {4, 4}).empty());
  CHECK(steps_of({RandomContrast{}}, {28, 28, 1}, {28, 28, 1}, {28, 28, 1}).empty());
  // Of the features' size, or larger.
  CHECK(steps_of({flip_all(), rotate(0.1)}, {28, 28, 3}, {28, 28}, {28, 28, 1}) ==
        Names{"random_flip", "random_rotation"});
  CHECK(steps_of({flip_all()}, {28, 28, 1}, {56, 56, 1}, {56, 56, 1}) == Names{"random_flip"});
  // Resizing alone shows the same: labels that fit stay.
  CHECK(steps_of({sized<Resizing>(14, 14)}, {28, 28, 1}, {28, 28, 1}, {28, 28, 1}).empty());
  CHECK(steps_of({sized<Resizing>(14, 14)}, {28, 28, 1}, {28, 28, 1}, {14, 14, 1}) == Names{"resizing"});
  CHECK(steps_of({sized<Resizing>(28, 28), flip_all()}, {56, 56, 3}, {28, 28, 1}, {28, 28, 1}) == Names{"random_flip"});
  CHECK(steps_of({sized<CenterCrop>(24, 24)}, {28, 28, 1}, {24, 24, 1}, {24, 24, 1}).empty());
}

TEST_CASE("a step that would move pictures away from their labels is refused") {
  const auto refused = [](const PreprocessingStep& step, const Shape& labels, const Shape& output) {
    const ExampleSpec spec = numbers({}, output);
    try {
      label_steps({step}, {28, 28, 1}, labels, 0, wanted_by(&spec, {}));
      return std::string();
    } catch (const KeyError& error) {
      return error.message();
    }
  };
  CHECK(refused(flip_all(), {784}, {784})
            .find("random_flip moves what pictures show, here of [28, 28, 1], and labels "
                  "of the shape [784] would stay") == 0);
  CHECK(refused(rotate(0.1), {784, 3}, {784, 3}).find("store the labels as pictures") != std::string::npos);
  CHECK(refused(sized<CenterCrop>(24, 24), {28, 28, 1}, {28, 28, 1}).find("fit the model's output as they are") !=
        std::string::npos);
  CHECK(refused(sized<RandomCrop>(24, 24), {56, 56, 1}, {56, 56, 1}).find("at one size") != std::string::npos);
  CHECK(refused(sized<Resizing>(14, 14), {784}, {784}).empty());
}

}  // namespace
}  // namespace mirrortrain::data
