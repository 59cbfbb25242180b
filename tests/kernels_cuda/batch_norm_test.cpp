#include "graph/ops/batch_norm.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

/// From few cells of many channels to many cells of few.
const Shape kImages[] = {{1030}, {3, 64}, {70, 50, 8}, {90, 40, 3}, {2, 2, 264}};

std::vector<Operand> operands(DType dtype, const Shape& image, double offset) {
  const Shape channels{image.back()};
  const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
  return {batched(dtype, image, [=](std::int64_t, double u) { return offset + u; }), fixed(channels, positive),
          fixed(channels), fixed(channels), fixed(channels, positive)};
}

}  // namespace

TEST_CASE("batch normalization over many cells or channels is the CPU's") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : kImages) {
      const ops::Rectifier relu{true, image.back() == 8 ? 0.5f : std::numeric_limits<float>::infinity()};
      const double tolerance = dtype == DType::kFloat32 ? 5e-6 : 2e-2;
      compare_with_cpu({"batch_norm " + image.text(),
                        std::make_shared<ops::BatchNorm>(0.9f, 1e-3f, relu),
                        operands(dtype, image, 0.5),
                        {3, 1, 0},
                        tolerance});
      compare_with_cpu({"inference " + image.text(),
                        std::make_shared<ops::BatchNormInference>(1e-3f, relu),
                        operands(dtype, image, 0.5),
                        {3, 1, 0},
                        tolerance});
      const Shape channels{image.back()};
      const Operand x = batched(dtype, image);
      compare_with_cpu({"gradient " + image.text(),
                        std::make_shared<ops::BatchNormGradient>(relu),
                        {x, x, fixed(channels), fixed(channels), fixed(channels), fixed(channels)},
                        {3, 1, 0},
                        tolerance});
      compare_with_cpu({"inference gradient " + image.text(),
                        std::make_shared<ops::BatchNormInferenceGradient>(1e-3f, relu),
                        {x, fixed(channels), fixed(channels, [](std::int64_t, double u) { return 1.5 + u; }), x},
                        {3, 1, 0},
                        tolerance});
    }
  }
}

TEST_CASE("statistics of many cells far from zero keep their places") {
  const auto outputs = [](const KernelRegistry& registry) {
    const ValueSpec x{DType::kFloat32, {64, 64, 4}, true}, channels{DType::kFloat32, {4}, false};
    Values image = filled({20, 64, 64, 4});
    for (std::int64_t i = 0; i < image.elements(); ++i) {
      image[i] = rounded(DType::kFloat32, 1000 + static_cast<double>(i % 4) + (i / 4 % 2 == 0 ? 0.25 : -0.25));
    }
    const Values zeros = filled({4}), ones = filled({4}, 1);
    return run_op(ops::BatchNorm(0.5f, 0.0f),
                  {{x, image}, {channels, ones}, {channels, zeros}, {channels, zeros}, {channels, zeros}}, 20, 1, {},
                  registry);
  }(registry_under_test());
  for (std::int64_t c = 0; c < 4; ++c) {
    CHECK(outputs[1][c] == 1000 + static_cast<double>(c));
    CHECK(outputs[2][c] == doctest::Approx(4).epsilon(1e-6));
    CHECK(outputs[4][c] == doctest::Approx(0.0625 / 2).epsilon(1e-6));
  }
}
