#include "data/feeding/feeder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "data/files.h"
#include "data/one_spec.h"

namespace mirrortrain::data {
namespace {

template <class T>
Array array(Shape shape, const std::vector<T>& elements, std::string origin) {
  Array result(kDTypeOf<T>, std::move(shape), std::move(origin));
  REQUIRE(result.bytes.size() == elements.size() * sizeof(T));
  std::ranges::copy(elements, result.span<T>().begin());
  return result;
}

template <class T>
TensorView view(Shape shape, std::vector<T>& elements) {
  return {kDTypeOf<T>, std::move(shape), reinterpret_cast<std::byte*>(elements.data())};
}

Dataset three_images() {
  return Dataset(examples_of(array<std::uint8_t>({3, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13, 252, 253, 254, 255}, "images"),
                             array<std::uint8_t>({3}, {2, 0, 1}, "labels")));
}

OneSpec class_spec() { return {.features = {2, 2, 1}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 3}; }

TEST_CASE("rows come in the order asked for, rescaled, with int32 classes") {
  const Feeder feeder(three_images(), {Rescaling{{}, 0.5, 1}}, class_spec());
  std::vector<float> x(8);
  std::vector<std::int32_t> y(2);
  const std::vector<std::int64_t> rows{2, 0};
  feeder.fill(rows, one_batch(view({2, 2, 2, 1}, x), view({2}, y)));
  CHECK(x == std::vector<float>{127, 127.5f, 128, 128.5f, 1, 1.5f, 2, 2.5f});
  CHECK(y == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("features may come as bfloat16") {
  const Feeder feeder(three_images(), {}, class_spec());
  std::vector<bfloat16> x(4);
  std::vector<std::int32_t> y(1);
  feeder.fill(std::vector<std::int64_t>{2}, one_batch(view({1, 2, 2, 1}, x), view({1}, y)));
  CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{252, 253, 254, 255});
}

TEST_CASE("examples count by their class, or by weights of their own") {
  OneSpec spec = class_spec();
  FeederOptions options;
  options.classes = {{{0, 2.5f}}};
  const std::vector<PreprocessingStep> none;
  const std::vector<std::int64_t> rows{1, 0};
  std::vector<float> x(8), weights(2);
  std::vector<std::int32_t> y(2);
  CHECK(Feeder(three_images(), none, spec, options).weights(0).empty());
  spec.weighted = true;
  const Feeder by_class(three_images().view(1, 2), none, spec, options);  // labels 0 and 1
  by_class.fill(rows, one_batch(view({2, 2, 2, 1}, x), view({2}, y), weights.data()));
  CHECK(weights == std::vector<float>{1, 2.5f});

  Examples examples =
      examples_of(array<std::uint8_t>({3, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13, 252, 253, 254, 255}, "images"),
                  array<std::uint8_t>({3}, {2, 0, 1}, "labels"));
  examples.outputs.front().weights = array<double>({3}, {0.5, 4, 0}, "weights");
  const Feeder by_example(Dataset(std::move(examples)).view(1, 2), none, spec, options);
  by_example.fill(rows, one_batch(view({2, 2, 2, 1}, x), view({2}, y), weights.data()));
  CHECK(weights == std::vector<float>{0, 4});
}

TEST_CASE("the class of several labels is the largest one's, and that of one is the whole number next to it") {
  const Dataset one_hot(
      examples_of(array<float>({2, 1}, {0, 0}, "x"), array<float>({2, 3}, {0, 1, 0, 0.2f, 0.2f, 0}, "y")));
  CHECK(weights_of(one_hot, 0, {{0, 2}, {1, 3}}) == std::vector<float>{3, 2});
  const Dataset numbers(examples_of(array<float>({3, 1}, {0, 0, 0}, "x"), array<float>({3, 1}, {0.9f, 0.5f, 1}, "y")));
  CHECK(weights_of(numbers, 0, {{0, 2}, {1, 3}}) == std::vector<float>{3, 2, 3});
}

TEST_CASE("a view of a data set counts its rows from its own first") {
  const Feeder feeder(three_images().view(1, 2), {}, class_spec());
  CHECK(feeder.rows() == 2);
  std::vector<float> x(4);
  std::vector<std::int32_t> y(1);
  feeder.fill(std::vector<std::int64_t>{1}, one_batch(view({1, 2, 2, 1}, x), view({1}, y)));
  CHECK(x == std::vector<float>{252, 253, 254, 255});
  CHECK(y[0] == 1);
}

TEST_CASE("one_hot makes float32 vectors, and scalar labels fit an output of shape [1]") {
  OneHot one_hot;
  one_hot.depth.value = 3;
  const Feeder vectors(three_images(), {one_hot}, OneSpec{.features = {2, 2}, .labels = {3}});
  std::vector<float> x(8), y(6, -1);
  vectors.fill(std::vector<std::int64_t>{0, 1}, one_batch(view({2, 2, 2}, x), view({2, 3}, y)));
  CHECK(y == std::vector<float>{0, 0, 1, 1, 0, 0});

  const Feeder scalars(three_images(), {}, OneSpec{.features = {2, 2}, .labels = {1}});
  std::vector<float> z(3);
  std::vector<float> all(12);
  scalars.fill(std::vector<std::int64_t>{0, 1, 2}, one_batch(view({3, 2, 2}, all), view({3, 1}, z)));
  CHECK(z == std::vector<float>{2, 0, 1});
}

template <class T>
void check_type(const std::vector<T>& elements, const std::vector<float>& wanted) {
  const auto rows = static_cast<std::int64_t>(elements.size());
  const Dataset dataset(examples_of(array<T>({rows, 1}, elements, "x"), array<T>({rows}, elements, "y")));
  const Feeder feeder(dataset, {Rescaling{{}, 2, 0}}, OneSpec{.features = {1}, .labels = {1}});
  std::vector<float> x(elements.size()), y(elements.size());
  std::vector<std::int64_t> order;
  for (std::int64_t row = 0; row < rows; ++row) order.push_back(row);
  feeder.fill(order, one_batch(view({rows, 1}, x), view({rows, 1}, y)));
  CHECK(y == wanted);
  for (float& value : x) value /= 2;
  CHECK(x == wanted);
}

TEST_CASE("every element type is converted") {
  check_type<std::uint8_t>({0, 255}, {0, 255});
  check_type<std::int32_t>({-5, 16777217}, {-5, 16777216});
  check_type<std::int64_t>({-5, 1 << 30}, {-5, 1073741824});
  check_type<bfloat16>({bfloat16(1.5f), bfloat16(-2)}, {1.5f, -2});
  check_type<float>({1.5f, -2}, {1.5f, -2});
  check_type<double>({0.1, -2}, {0.1f, -2});
}

TEST_CASE("channels are normalized each with its own numbers, for rows of any length") {
  for (const std::int64_t width : {1, 5, 97, 400}) {
    CAPTURE(width);
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = 0; i < 2 * width * 3; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 31));
    Normalization step;
    step.mean.value = std::vector<double>{10, 20, 30};
    step.variance.value = std::vector<double>{1, 4, 16};
    const Dataset dataset(
        examples_of(array<std::uint8_t>({2, width, 3}, pixels, "x"), array<std::uint8_t>({2}, {0, 1}, "y")));
    const Feeder feeder(dataset, {step}, OneSpec{.features = {width, 3}, .labels = {1}});
    std::vector<float> x(pixels.size()), y(2);
    feeder.fill(std::vector<std::int64_t>{0, 1}, one_batch(view({2, width, 3}, x), view({2, 1}, y)));
    int wrong = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const float mean = 10 * static_cast<float>(i % 3 + 1), deviation = static_cast<float>(1 << (i % 3));
      wrong += x[i] != (static_cast<float>(pixels[i]) - mean) / deviation;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("data that does not fit the model is refused with file, shapes and remedy") {
  const auto error = [](const Dataset& dataset, const std::vector<PreprocessingStep>& steps, const OneSpec& spec) {
    return error_text([&] { Feeder(dataset, steps, spec); });
  };
  OneSpec spec = class_spec();
  spec.features = {4};
  CHECK(contains(error(three_images(), {}, spec),
                 "images: one example has the shape [2, 2], but model.input_shape is [4]"));

  CHECK(contains(error(three_images(), {}, OneSpec{.features = {2, 2}, .labels = {3}}),
                 "labels: one label has the shape [], but the model's output and loss take [3]; for class numbers"));

  Normalization normalization;
  normalization.mean.value = std::vector<double>{1, 2};
  normalization.variance.value = 1.0;
  CHECK(contains(error(three_images(), {normalization}, class_spec()), "expected one number"));

  OneHot one_hot;
  one_hot.depth.value = 3;
  CHECK(contains(error(three_images(), {one_hot}, class_spec()), "the loss takes class numbers"));
  one_hot.depth.value = 2;
  CHECK(contains(error(three_images(), {one_hot}, OneSpec{.features = {2, 2}, .labels = {2}}),
                 "labels: row 0 (counting from 0): label 2 is not one of the 2 classes 0 to 1"));
}

TEST_CASE("a label outside the classes is refused with its row, in the whole file's count") {
  const auto error = [](const Array& labels, const OneSpec& spec, std::int64_t first) {
    Array copy = array<float>(labels.shape, {labels.span<float>().begin(), labels.span<float>().end()}, labels.origin);
    const Dataset dataset(examples_of(array<std::uint8_t>({4, 1}, {0, 1, 2, 3}, "x"), std::move(copy)));
    return error_text([&] { Feeder(dataset.view(first, 4 - first), {}, spec); });
  };
  const OneSpec classes{.features = {1}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 3};
  const OneSpec probabilities{.features = {1}, .labels = {1}, .probabilities = true};
  CHECK(contains(error(array<float>({4}, {0, 1, 2, 3}, "y"), classes, 1),
                 "y: row 3 (counting from 0): label 3 is not one of the 3"));
  CHECK(contains(error(array<float>({4}, {0, -1, 2, 3}, "y"), classes, 0), "row 1 (counting from 0): label -1"));
  CHECK(contains(error(array<float>({4}, {0, 0.5f, 2, 3}, "y"), classes, 0), "label 0.5"));
  CHECK(contains(error(array<float>({4, 1}, {0, 1, 1, 2}, "y"), probabilities, 0),
                 "row 3 (counting from 0): label 2 is not between 0 and 1"));
  CHECK(error(array<float>({4}, {0, 1, 0.5f, 0}, "y"), probabilities, 0) == "no error");
  const OneSpec signs{.features = {1}, .labels = {1}, .signs = true};
  CHECK(contains(error(array<float>({4}, {-1, 1, 0, 0.5f}, "y"), signs, 0), "label 0.5 is none of -1, 0 and 1"));
  CHECK(error(array<float>({4}, {-1, 1, 0, 1}, "y"), signs, 0) == "no error");
}

TEST_CASE("a data set needs as many labels as features, at least one example and finite numbers") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(error_text([] {
                   Dataset(examples_of(array<float>({2, 1}, {1, 2}, "x"), array<float>({1}, {1}, "y")));
                 }),
                 "x has 2 rows but y has 1"));
  CHECK(contains(error_text([] {
                   Dataset(examples_of(array<float>({0, 1}, {}, "x"), array<float>({0}, {}, "y")));
                 }),
                 "at least one"));
  CHECK(contains(error_text([&] {
                   Dataset(examples_of(array<float>({2, 2}, {1, 2, nan, 4}, "x"), array<float>({2}, {1, 1}, "y")));
                 }),
                 "x: row 1 (counting from 0): found nan where a finite number was expected"));
  CHECK(contains(error_text([&] {
                   Dataset(examples_of(array<double>({1, 1}, {1e39}, "x"), array<float>({1}, {1}, "y")));
                 }),
                 "1e+39"));
  CHECK(contains(error_text([&] {
                   Dataset(examples_of(array<double>({1, 1}, {1}, "x"), array<float>({1}, {nan}, "y")));
                 }),
                 "y: row 0"));
}

}  // namespace
}  // namespace mirrortrain::data
