#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/ops/elementwise.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

std::vector<Values> softmax(const std::vector<Values>& inputs) {
  Values y = inputs[0];
  const std::int64_t classes = y.shape.back();
  for (std::int64_t row = 0; row < y.elements() / classes; ++row) {
    double largest = y[row * classes], sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) largest = std::max(largest, y[row * classes + i]);
    for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(y[row * classes + i] - largest);
    for (std::int64_t i = 0; i < classes; ++i) {
      y[row * classes + i] = std::exp(y[row * classes + i] - largest) / sum;
    }
  }
  return {y};
}

}  // namespace

TEST_CASE("softmax and its gradient match a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{10}, Shape{1}, Shape{3, 17}, Shape{2, 2, 64}, Shape{1001}}) {
      const Case test{.name = fmt::format("softmax {} {}", name_of(dtype), shape.text()),
                      .op = std::make_shared<ops::Softmax>(),
                      .inputs = {batched(dtype, shape, [](std::int64_t, double u) { return 4 * u; })},
                      .reference = softmax,
                      .rows = {37, 1, 0}};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("softmax holds for large inputs") {
  const Values x{{1, 3}, {1e30, -1e30, 1e30}};
  const Values y = run_op(ops::Softmax(), {{{DType::kFloat32, {3}, true}, x}}, 1)[0];
  CHECK(y.data == std::vector<double>{0.5, 0, 0.5});
}
