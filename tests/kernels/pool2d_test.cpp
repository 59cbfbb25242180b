#include "graph/ops/pool2d.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::Padding;

namespace {

struct Images {
  std::int64_t rows, height, width, channels;
  explicit Images(const Shape& s) : rows(s[0]), height(s[1]), width(s[2]), channels(s[3]) {}
  std::int64_t at(std::int64_t row, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return ((row * height + y) * width + x) * channels + c;
  }
};

/// Calls body(output element, window of input elements and their numbers in it) for every output.
template <class Body>
Shape for_windows(const ops::Pool2dAttributes& pool, const Shape& shape, const Body& body) {
  const Images in(shape);
  const auto ys = ops::window_axis(in.height, pool.pool_size[0], pool.strides[0], 1, pool.padding);
  const auto xs = ops::window_axis(in.width, pool.pool_size[1], pool.strides[1], 1, pool.padding);
  const Images out({in.rows, ys.output, xs.output, in.channels});
  for (std::int64_t i = 0; i < out.rows * out.height * out.width * out.channels; ++i) {
    const std::int64_t c = i % out.channels, x = i / out.channels % out.width;
    const std::int64_t y = i / out.channels / out.width % out.height, row = i / out.channels / out.width / out.height;
    std::vector<std::pair<std::int64_t, std::int64_t>> window;
    for (std::int64_t k = 0; k < pool.pool_size[0] * pool.pool_size[1]; ++k) {
      const std::int64_t line = y * pool.strides[0] - ys.pad_before + k / pool.pool_size[1];
      const std::int64_t column = x * pool.strides[1] - xs.pad_before + k % pool.pool_size[1];
      if (line >= 0 && line < in.height && column >= 0 && column < in.width) {
        window.emplace_back(in.at(row, line, column, c), k);
      }
    }
    body(i, window);
  }
  return {out.rows, out.height, out.width, out.channels};
}

Reference max_pool(const ops::Pool2dAttributes& pool, bool relu) {
  return [=](const std::vector<Values>& inputs) {
    std::vector<double> maxima, positions;
    const Shape shape = for_windows(pool, inputs[0].shape, [&](std::int64_t, const auto& window) {
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t position = 0;
      for (const auto& [element, number] : window) {
        if (inputs[0][element] > best) position = number;
        best = std::max(best, inputs[0][element]);
      }
      maxima.push_back(relu ? std::max(0.0, best) : best);
      positions.push_back(static_cast<double>(position));
    });
    return std::vector<Values>{{shape, maxima}, {shape, positions}};
  };
}

Reference average_pool(const ops::Pool2dAttributes& pool) {
  return [=](const std::vector<Values>& inputs) {
    std::vector<double> means;
    const Shape shape = for_windows(pool, inputs[0].shape, [&](std::int64_t, const auto& window) {
      double sum = 0;
      for (const auto& [element, number] : window) sum += inputs[0][element];
      means.push_back(sum / static_cast<double>(window.size()));
    });
    return std::vector<Values>{{shape, means}};
  };
}

std::vector<Values> global_average(const std::vector<Values>& inputs) {
  const Images in(inputs[0].shape);
  Values y = filled({in.rows, in.channels});
  for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
    const std::int64_t row = i / (in.height * in.width * in.channels);
    y[row * in.channels + i % in.channels] += inputs[0][i] / static_cast<double>(in.height * in.width);
  }
  return {y};
}

struct PoolCase {
  ops::Pool2dAttributes pool;
  Shape image;
};

const PoolCase kPools[] = {
    {{{2, 2}, {2, 2}, Padding::kValid}, {6, 8, 32}},   // halving, whole vectors
    {{{2, 2}, {2, 2}, Padding::kValid}, {7, 5, 3}},    // halving with a line and a column left over
    {{{2, 2}, {2, 2}, Padding::kValid}, {5, 6, 37}},   // halving, channels no multiple of 16
    {{{2, 2}, {2, 2}, Padding::kSame}, {4, 4, 16}},    // halving, nothing to pad
    {{{2, 2}, {2, 2}, Padding::kSame}, {5, 7, 16}},    // windows that reach over the edge
    {{{3, 3}, {2, 2}, Padding::kSame}, {9, 8, 5}},     // overlapping
    {{{3, 3}, {1, 1}, Padding::kSame}, {5, 5, 2}},     //
    {{{3, 2}, {1, 3}, Padding::kValid}, {6, 11, 70}},  // uneven, some inputs in no window
    {{{2, 3}, {3, 5}, Padding::kValid}, {8, 9, 1}},    // gaps between windows
    {{{1, 1}, {1, 1}, Padding::kValid}, {3, 4, 2}},    //
    {{{4, 5}, {4, 5}, Padding::kValid}, {4, 5, 130}},  // one window
    {{{5, 5}, {3, 3}, Padding::kSame}, {4, 3, 17}},    // windows larger than the image
};

std::string name_of_case(const PoolCase& pool, DType dtype, std::string_view what) {
  return fmt::format("{} {}x{}/{},{} {} {} {}", what, pool.pool.pool_size[0], pool.pool.pool_size[1],
                     pool.pool.strides[0], pool.pool.strides[1], pool.pool.padding == Padding::kSame ? "same" : "valid",
                     pool.image.text(), name_of(dtype));
}

}  // namespace

TEST_CASE("max pooling, alone and with relu, matches a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const PoolCase& pool : kPools) {
      for (const bool relu : {false, true}) {
        const Case test{.name = name_of_case(pool, dtype, relu ? "max relu" : "max"),
                        .op = std::make_shared<ops::MaxPool2d>(pool.pool, relu),
                        .inputs = {batched(dtype, pool.image)},
                        .reference = max_pool(pool.pool, relu),
                        .rows = {3, 1, 0}};
        check_forward(test);
        check_gradient(test, {true});
      }
    }
  }
}

TEST_CASE("average pooling leaves the padding out of the count") {
  for (const DType dtype : kFloatTypes) {
    for (const PoolCase& pool : kPools) {
      const Case test{.name = name_of_case(pool, dtype, "average"),
                      .op = std::make_shared<ops::AveragePool2d>(pool.pool),
                      .inputs = {batched(dtype, pool.image)},
                      .reference = average_pool(pool.pool),
                      .rows = {3, 1, 0}};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("global average pooling matches a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : {Shape{7, 7, 64}, Shape{1, 1, 3}, Shape{5, 3, 67}, Shape{28, 28, 1}}) {
      const Case test{.name = fmt::format("global average {} {}", image.text(), name_of(dtype)),
                      .op = std::make_shared<ops::GlobalAveragePool2d>(),
                      .inputs = {batched(dtype, image)},
                      .reference = global_average};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("max pooling takes the first of equals and lets NaN through") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t size : {2, 3}) {  // the halving kernel and the general one
    ops::Pool2dAttributes pool{{2, 2}, {size, size}, Padding::kValid};
    const ValueSpec spec{DType::kFloat32, {2, 2, 4}, true};
    // Channels: all equal; the maximum twice; NaN first; NaN last.
    const Values x{{1, 2, 2, 4}, {5, 1, nan, 1, 5, 3, 2, 2, 5, 3, 3, 3, 5, 2, 4, nan}};
    const auto outputs = run_op(ops::MaxPool2d(pool), {{spec, x}}, 1);
    CHECK(outputs[0][0] == 5);
    CHECK(outputs[1][0] == 0);
    CHECK(outputs[0][1] == 3);
    CHECK(outputs[1][1] == 1);
    CHECK(std::isnan(outputs[0][2]));
    CHECK(outputs[1][2] == 0);
    CHECK(std::isnan(outputs[0][3]));
    CHECK(outputs[1][3] == 3);
  }
}

TEST_CASE("pooling refuses windows that do not fit or are too large") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {4, 40, 3}, true});
  CHECK_THROWS_WITH(graph.apply_one(ops::AveragePool2d({{5, 2}, {1, 1}, Padding::kValid}), {x}),
                    "average_pool2d: a window of 5 x 2 does not fit into images of [4, 40, 3] without padding; "
                    "take a smaller pool_size, or padding: same");
  CHECK_THROWS_WITH(
      graph.apply_one(ops::MaxPool2d({{20, 20}, {1, 1}, Padding::kSame}), {x}),
      "max_pool2d: expected a window of at most 256 elements, found 20 x 20; pool in two layers, or everything "
      "with global_max_pooling2d");
}

TEST_CASE("global max pooling takes the maximum of a channel, and equal maxima share its gradient") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : {Shape{4, 5, 19}, Shape{1, 1, 3}, Shape{20, 20, 16}}) {
      const Case test{.name = fmt::format("global_max_pool2d {} {}", name_of(dtype), image.text()),
                      .op = std::make_shared<ops::GlobalMaxPool2d>(),
                      .inputs = {batched(dtype, image)},
                      .reference =
                          [](const std::vector<Values>& inputs) {
                            const Images in(inputs[0].shape);
                            Values y = filled({in.rows, in.channels}, -std::numeric_limits<double>::infinity());
                            for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
                              double& most =
                                  y[i / (in.height * in.width * in.channels) * in.channels + i % in.channels];
                              most = std::max(most, inputs[0][i]);
                            }
                            return std::vector<Values>{y};
                          },
                      .rows = {3, 1, 0}};
      check_forward(test);
      if (dtype == DType::kFloat32) check_gradient(test, {true});  // rounded, many elements are equal
    }
  }
  const ValueSpec image{DType::kFloat32, {2, 2, 1}, true}, channel{DType::kFloat32, {1}, true};
  const Values x{{1, 2, 2, 1}, {3, 1, 3, 2}}, y{{1, 1}, {3}}, dy{{1, 1}, {8}};
  CHECK(run_op(ops::GlobalMaxPool2dGradient(), {{channel, dy}, {image, x}, {channel, y}}, 1)[0].data ==
        std::vector<double>{4, 0, 4, 0});
}
