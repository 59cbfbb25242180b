#include "data/feeding/example_picture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "data/dataset.h"

namespace mirrortrain::data {
namespace {

template <class T>
Dataset dataset_of(DType dtype, const Shape& shape, const std::vector<T>& elements) {
  Examples examples = examples_of(Array(dtype, shape, "x"), Array(DType::kInt32, Shape{shape[0]}, "y"));
  std::ranges::copy(elements, examples.inputs[0].array.template span<T>().begin());
  std::ranges::fill(examples.outputs[0].array.span<std::int32_t>(), 0);
  return Dataset(std::move(examples));
}

TEST_CASE("a PNG that is written decodes to the same pixels") {
  for (const std::int64_t channels : {1, 3}) {
    Picture picture{5, 7, channels, {}};
    for (std::int64_t i = 0; i < 5 * 7 * channels; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(37 * i));
    const std::vector<std::byte> file = encode_png(picture);
    const Picture read = decode_picture(file, static_cast<int>(channels), "a.png");
    CHECK(read.height == 5);
    CHECK(read.width == 7);
    CHECK(read.pixels == picture.pixels);
  }
}

TEST_CASE("examples are pictures where their shape says so") {
  const auto pictures = [](DType dtype, const Shape& row, const Shape& input) {
    std::vector<std::int64_t> dims = row.dims();
    dims.insert(dims.begin(), 1);
    Examples examples = examples_of(Array(dtype, Shape(dims), "x"), Array(DType::kInt32, Shape{1}, "y"));
    std::ranges::fill_n(examples.inputs[0].array.bytes.data(),
                        static_cast<std::ptrdiff_t>(examples.inputs[0].array.bytes.size()), std::byte{0});
    std::ranges::fill(examples.outputs[0].array.span<std::int32_t>(), 0);
    return holds_pictures(Dataset(std::move(examples)), 0, input);
  };
  CHECK(pictures(DType::kFloat32, Shape{4, 5, 3}, Shape{4, 5, 3}));
  CHECK(pictures(DType::kFloat32, Shape{4, 5, 1}, Shape{4, 5, 1}));
  CHECK_FALSE(pictures(DType::kFloat32, Shape{4, 5, 2}, Shape{4, 5, 2}));
  CHECK(pictures(DType::kUint8, Shape{4, 5}, Shape{4, 5}));
  CHECK(pictures(DType::kFloat32, Shape{4, 5}, Shape{4, 5, 1}));
  CHECK_FALSE(pictures(DType::kFloat32, Shape{4, 5}, Shape{4, 5}));  // a sequence
  CHECK_FALSE(pictures(DType::kFloat32, Shape{20}, Shape{20}));
}

TEST_CASE("bytes are shown as they are, other numbers by what they range over") {
  using Pixels = std::vector<std::uint8_t>;
  const Dataset bytes = dataset_of<std::uint8_t>(DType::kUint8, Shape{2, 1, 2, 1}, {1, 2, 0, 1});
  CHECK(picture_of(bytes, 0, 0, 128).pixels == Pixels{1, 2});
  CHECK(picture_of(bytes.view(1, 1), 0, 0, 128).pixels == Pixels{0, 1});
  const Dataset numbers = dataset_of<float>(DType::kFloat32, Shape{3, 2, 2},
                                            {0, 0.5f, 1, 0.2f,  //
                                             0, 51, 255, 102,   //
                                             -1, 1, 0, -1});
  CHECK(picture_of(numbers, 0, 0, 128).pixels == Pixels{0, 128, 255, 51});
  CHECK(picture_of(numbers, 0, 1, 128).pixels == Pixels{0, 51, 255, 102});
  CHECK(picture_of(numbers, 0, 2, 128).pixels == Pixels{0, 255, 128, 0});
  const Dataset flat = dataset_of<float>(DType::kFloat32, Shape{1, 1, 2}, {-3, -3});
  CHECK(picture_of(flat, 0, 0, 128).pixels == Pixels{0, 0});
}

TEST_CASE("a large picture is reduced by a whole factor, each channel for itself") {
  // 3 x 5 RGB, at most 3 pixels: squares of 2 x 2, cut off at the edges.
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (const int level : {10 * y + x, 100, 200 - x}) pixels.push_back(static_cast<std::uint8_t>(level));
    }
  }
  const Picture small = picture_of(dataset_of<std::uint8_t>(DType::kUint8, Shape{1, 3, 5, 3}, pixels), 0, 0, 3);
  CHECK(small.height == 2);
  CHECK(small.width == 3);
  REQUIRE(small.pixels.size() == 18);
  CHECK(small.pixels[0] == 6);  // the mean of 0, 1, 10, 11 is 5.5
  CHECK(small.pixels[1] == 100);
  CHECK(small.pixels[15] == 24);  // the last corner is one pixel of the example
  CHECK(small.pixels[17] == 196);
}

}  // namespace
}  // namespace mirrortrain::data
