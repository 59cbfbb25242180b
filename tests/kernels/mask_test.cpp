#include "graph/ops/mask.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

/// Of each sequence the step 1 counts, where there is one, and others by chance.
Operand mask_of(const Shape& shape) {
  return batched(DType::kFloat32, shape, [steps = shape.back()](std::int64_t i, double uniform) {
    return steps == 1 || i % steps == 1 || uniform > 0 ? 1.0 : 0.0;
  });
}

double count(const Values& mask) {
  return static_cast<double>(std::ranges::count_if(mask.data, [](double one) { return one != 0; }));
}

std::vector<Values> masked_mean(const std::vector<Values>& inputs) {
  const Values &x = inputs[0], &mask = inputs[1];
  const std::int64_t steps = x.shape[1], channels = x.shape[2];
  Values y = filled({x.rows(), channels});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t row = i / channels;
    double counted = 0;
    for (std::int64_t step = row * steps; step < (row + 1) * steps; ++step) {
      if (mask[step] == 0) continue;
      y[i] += x[step * channels + i % channels];
      ++counted;
    }
    y[i] /= counted;
  }
  return {y};
}

}  // namespace

TEST_CASE("a mask holds what is not zero, or everything, and its numbers are counted") {
  for (const Shape& shape : {Shape{7}, Shape{1}, Shape{3, 50}}) {
    const Operand numbers = batched(
        DType::kFloat32, shape, [](std::int64_t i, double) { return static_cast<double>(i % 3 == 1 ? 0 : i % 5 - 1); });
    const std::vector<std::int64_t> rows{41, 1, 0};
    check_forward({.name = "padding_mask " + shape.text(),
                   .op = std::make_shared<ops::PaddingMask>(),
                   .inputs = {numbers},
                   .reference =
                       [](std::vector<Values> inputs) {
                         for (double& number : inputs[0].data) number = number != 0;
                         return inputs;
                       },
                   .rows = rows});
    check_forward({.name = "label_mask " + shape.text(),
                   .op = std::make_shared<ops::LabelMask>(-1),
                   .inputs = {batched(DType::kInt32, shape,
                                      [](std::int64_t i, double) { return static_cast<double>(i % 4 - 1); })},
                   .reference =
                       [](std::vector<Values> inputs) {
                         for (double& number : inputs[0].data) number = number != -1;
                         return inputs;
                       },
                   .rows = rows});
    check_forward({.name = "full_mask " + shape.text(),
                   .op = std::make_shared<ops::FullMask>(shape),
                   .inputs = {batched(DType::kBfloat16, {2})},
                   .reference =
                       [shape](const std::vector<Values>& inputs) {
                         return std::vector<Values>{filled(shape.with_rows(inputs[0].rows()), 1)};
                       },
                   .rows = rows});
    check_forward({.name = "mask_count " + shape.text(),
                   .op = std::make_shared<ops::MaskCount>(),
                   .inputs = {mask_of(shape)},
                   .reference =
                       [](const std::vector<Values>& inputs) {
                         return std::vector<Values>{{Shape{}, {count(inputs[0])}}};
                       },
                   .rows = rows});
  }
}

TEST_CASE("the mean over the steps that count, and its gradient, match a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{6, 5}, Shape{1, 1}, Shape{9, 33}}) {
      const Case test{.name = fmt::format("masked_mean {} {}", name_of(dtype), shape.text()),
                      .op = std::make_shared<ops::MaskedMean>(),
                      .inputs = {batched(dtype, shape), mask_of({shape[0]})},
                      .reference = masked_mean};
      check_forward(test);
      check_gradient(test, {true, false});
    }
  }
}

TEST_CASE("a step is taken from where its mask says, or is filled, and so are gradients") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{6, 5}, Shape{1, 1}, Shape{33}, Shape{3, 2, 17}}) {
      const Operand x = batched(dtype, shape), y = batched(dtype, shape);
      const Operand mask = batched(DType::kFloat32, Shape({shape.begin(), shape.end() - 1}),
                                   [](std::int64_t, double uniform) { return uniform > 0 ? 1.0 : 0.0; });
      struct Ways {
        std::string_view name;
        bool counted, other;
      };
      for (const Ways ways : {Ways{"both", true, true}, Ways{"counted", true, false}, Ways{"other", false, true}}) {
        const Case test{.name = fmt::format("select {} {} {}", ways.name, name_of(dtype), shape.text()),
                        .op = std::make_shared<ops::Select>(-1.0f),
                        .inputs = {mask, ways.counted ? x : absent(), ways.other ? y : absent()},
                        .reference = [ways, channels = shape.back()](const std::vector<Values>& inputs) {
                          Values result = inputs[ways.counted ? 1 : 2];
                          for (std::int64_t i = 0; i < result.elements(); ++i) {
                            const bool counts = inputs[0][i / channels] != 0;
                            const bool given = counts ? ways.counted : ways.other;
                            result[i] = given ? inputs[counts ? 1 : 2][i] : -1.0;
                          }
                          return std::vector<Values>{result};
                        }};
        check_forward(test);
        check_gradient(test, {false, ways.counted, ways.other});
      }
    }
  }
}

TEST_CASE("a sequence of padding alone has no mean") {
  const ValueSpec x{DType::kFloat32, {2, 1}, true}, mask{DType::kFloat32, {2}, true};
  const Values y = run_op(ops::MaskedMean(), {{x, filled({2, 2, 1}, 3)}, {mask, {{2, 2}, {0, 0, 1, 0}}}}, 2)[0];
  CHECK(std::isnan(y[0]));
  CHECK(y[1] == 3);
}

TEST_CASE("masks of another shape than what they mask are refused") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {4, 3}, true});
  const ValueId mask = graph.input("mask", {DType::kFloat32, {3}, true});
  CHECK_THROWS_WITH(graph.apply(ops::MaskedMean(), {x, mask}),
                    "masked_mean: expected the mask as float32 [4] per row, found float32 [3] per row");
}
