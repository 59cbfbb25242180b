#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr StepParams kStep{.seed = 0x123456789abcdef0, .step = 5, .first_row = 1000, .global_examples = 64};

/// The rule, element by element.
Reference dropout(float rate, std::uint32_t stream) {
  return [=](const std::vector<Values>& inputs) {
    Values y = inputs[0];
    const std::int64_t elements = y.rows() == 0 ? 1 : y.elements() / y.rows();
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto element = static_cast<std::uint32_t>(i % elements);
      const auto row = static_cast<std::uint32_t>(kStep.first_row + i / elements);
      const Philox::Words words =
          Philox::with_key(kStep.seed)(element / 4, row, static_cast<std::uint32_t>(kStep.step), stream);
      const bool dropped = uniform_from_bits(words.word[element % 4]) < rate;
      y[i] = dropped ? 0 : y[i] / (1 - static_cast<double>(rate));
    }
    return std::vector<Values>{y};
  };
}

/// Box and Muller in double.
Reference random_normal(const Shape& shape, std::uint32_t stream) {
  return [=](const std::vector<Values>& inputs) {
    const std::int64_t elements = shape.elements(), rows = inputs[0].rows();
    Values y = filled(shape.with_rows(rows));
    for (std::int64_t i = 0; i < rows * elements; ++i) {
      const auto element = static_cast<std::uint32_t>(i % elements);
      const auto row = static_cast<std::uint32_t>(kStep.first_row + i / elements);
      const Philox::Words words =
          Philox::with_key(kStep.seed)(element / 4, row, static_cast<std::uint32_t>(kStep.step), stream);
      const std::uint32_t* const pair = words.word + element % 4 / 2 * 2;
      const double radius = std::sqrt(-2 * std::log((pair[0] / 256 + 0.5) / 16777216));
      const double angle = 6.283185307179586 * (pair[1] / 256 / 16777216.0);
      y[i] = radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
    }
    return std::vector<Values>{y};
  };
}

}  // namespace

TEST_CASE("random_normal follows its rule, of mean 0 and variance 1") {
  for (const Shape& shape : {Shape{64}, Shape{1}, Shape{3, 5, 7}, Shape{130}}) {
    check_forward({.name = fmt::format("random_normal {}", shape.text()),
                   .op = std::make_shared<ops::RandomNormal>(shape, 77),
                   .inputs = {batched(DType::kFloat32, {2})},
                   .reference = random_normal(shape, 77),
                   .rows = {5, 1, 0},
                   .tolerance = 2e-5,
                   .step = kStep});
  }
  const ValueSpec spec{DType::kFloat32, {1}, true};
  const Values y = run_op(ops::RandomNormal({20000}, 3), {{spec, filled({5, 1})}}, 5, 1, kStep)[0];
  double sum = 0, squares = 0;
  for (const double number : y.data) sum += number, squares += number * number;
  CHECK(std::abs(sum / 100000) < 0.02);
  CHECK(squares / 100000 == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("dropout follows its rule, forward and backward") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{64}, Shape{1}, Shape{3, 5, 7}, Shape{131}, Shape{1000}}) {
      for (const float rate : {0.0f, 0.25f, 0.9f}) {
        const Case test{.name = fmt::format("dropout {} {} {}", rate, name_of(dtype), shape.text()),
                        .op = std::make_shared<ops::Dropout>(rate, 77),
                        .inputs = {batched(dtype, shape)},
                        .reference = dropout(rate, 77),
                        .rows = {5, 1, 0},
                        .step = kStep};
        check_forward(test);
        check_gradient(test, {true});
      }
    }
  }
}

TEST_CASE("dropout's mask depends on the row in the global batch alone") {
  const ValueSpec spec{DType::kFloat32, {50}, true};
  const ops::Dropout op(0.5f, 3);
  const Values whole = run_op(op, {{spec, filled({6, 50}, 1)}}, 6, 1, {.seed = 1, .step = 2, .first_row = 0})[0];
  const Values tail = run_op(op, {{spec, filled({2, 50}, 1)}}, 2, 1, {.seed = 1, .step = 2, .first_row = 4})[0];
  CHECK(std::vector<double>(whole.data.begin() + 200, whole.data.end()) == tail.data);
}

TEST_CASE("dropout keeps the share it should and changes with seed, step and stream") {
  const ValueSpec spec{DType::kFloat32, {20000}, true};
  const auto run = [&](float rate, std::uint32_t stream, StepParams step) {
    return run_op(ops::Dropout(rate, stream), {{spec, filled({5, 20000}, 1)}}, 5, 1, step)[0];
  };
  const Values y = run(0.3f, 1, {.seed = 1, .step = 1});
  double kept = 0;
  for (const double value : y.data) kept += value != 0;
  CHECK(kept / 100000 == doctest::Approx(0.7).epsilon(0.01));
  CHECK(run(0.3f, 1, {.seed = 2, .step = 1}).data != y.data);
  CHECK(run(0.3f, 1, {.seed = 1, .step = 2}).data != y.data);
  CHECK(run(0.3f, 2, {.seed = 1, .step = 1}).data != y.data);
  for (const double value : run(1.0f, 1, {}).data) REQUIRE(value == 0);
}
