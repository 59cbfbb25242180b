// Convolutions that leave the sums of the normalization behind them: where that is measured to be faster, and always.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/conv2d_geometries.h"
#include "kernels/cuda/conv_with_sums.h"
#include "kernels/harness_parts.h"
#include "kernels_cuda/under_test.h"
#include "skip.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

/// Linear, with channels as cuDNN's engines that compile take them, and as they do not.
const Conv2dGeometry kNormalized[] = {
    {{14, 14, 64}, {3, 3, 64, 64}, {.padding = ops::Padding::kSame}, false},
    {{14, 14, 64}, {1, 1, 64, 128}, {}, false},
    {{14, 14, 64}, {1, 1, 64, 128}, {}, true},
    {{15, 13, 32}, {3, 3, 32, 64}, {.strides = {2, 2}, .padding = ops::Padding::kSame}, false},
    {{9, 9, 3}, {3, 3, 3, 5}, {}, false},
};

/// The inputs of a Conv2dBatchNorm, and what its norm is without the residual's.
struct Problem {
  ops::Conv2d conv;
  bool of_residual;
  std::int64_t rows;
  ValueSpec y;
  Inputs inputs;

  /// `x`, `kernel`: what these are filled with.
  Problem(const Conv2dGeometry& g, bool with_residual, std::int64_t n, const Fill& x = {}, const Fill& kernel = {})
      : conv(g.attributes), of_residual(with_residual), rows(n) {
    const Shape channels{g.kernel[3]};
    const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
    inputs = random_inputs(
        {batched(DType::kBfloat16, g.image, x), fixed(g.kernel, kernel), g.with_bias ? fixed(channels) : absent()}, n);
    const Inputs vectors =
        random_inputs({fixed(channels, positive), fixed(channels), fixed(channels), fixed(channels, positive)}, n, 3);
    inputs.insert(inputs.end(), vectors.begin(), vectors.end());
    y = {DType::kBfloat16, conv.infer(std::vector{inputs[0].first, inputs[1].first})[0].shape, true};
    if (of_residual) inputs.push_back(random_inputs({{y, {}}}, n, 5)[0]);
  }

  cuda::Conv2dBatchNorm op() const { return {conv, ops::BatchNorm(0.9f, 1e-3f, {of_residual}), of_residual}; }

  Values convolved() const { return run_op(conv, {inputs[0], inputs[1], inputs[2]}, rows)[0]; }

  /// The op's outputs, by a normalization's own kernel.
  std::vector<Values> normalized(const Values& from) const {
    Inputs norm{{y, from}};
    norm.insert(norm.end(), inputs.begin() + 3, inputs.begin() + 7);
    std::vector<Values> outputs = run_op(ops::BatchNorm(0.9f, 1e-3f), norm, rows);
    for (std::int64_t i = 0; i < outputs[0].elements() && of_residual; ++i) {
      outputs[0][i] = std::max(0.0, outputs[0][i] + inputs.back().second[i]);
    }
    outputs.push_back(from);
    return outputs;
  }

  void check(const std::vector<Values>& found, const std::vector<Values>& expected) const {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_image = i == 0 || i == 5;
      compare(found[i], expected[i], is_image ? 2e-2 : 1e-2,
              fmt::format("{} rows of {} with {}, output {}", rows, inputs[0].first.shape.text(),
                          inputs[1].first.shape.text(), i));
    }
  }
};

struct NoPlan : Error {
  using Error::Error;
};

/// Kernels that leave the sums, whether or not that is fast; their plans' names. Making one throws NoPlan where cuDNN
/// has none.
KernelRegistry always_with_sums(std::vector<std::string>& plans) {
  const auto cudnn = std::make_shared<cuda::Cudnn>(0, cuda::MathOptions{.tf32 = false, .deterministic = false});
  KernelRegistry made("cuda");
  made.add<cuda::Conv2dBatchNorm>([cudnn, &plans](const cuda::Conv2dBatchNorm& op, const KernelSpecs& specs) {
    std::vector<cuda::CudnnPlan> found;
    try {
      found = cuda::plans_with_sums(op, specs, *cudnn, 1);
    } catch (const Error& error) {
      throw NoPlan(error.what());
    }
    plans.push_back(found.front().name());
    return cuda::make_with_sums(op, specs, cudnn, std::move(found.front()));
  });
  return for_host_memory(made);
}

/// |mean| / deviation of a channel.
double distance_from_zero(const Values& y, std::int64_t channel) {
  double sum = 0, squares = 0, count = 0;
  for (std::int64_t i = channel; i < y.elements(); i += y.shape.back()) sum += y[i], ++count;
  for (std::int64_t i = channel; i < y.elements(); i += y.shape.back()) squares += std::pow(y[i] - sum / count, 2);
  return std::abs(sum / count) / std::sqrt(squares / count);
}

}  // namespace

TEST_CASE("a convolution with its normalization is the two, with a residual and without") {
  for (const Conv2dGeometry& g : kNormalized) {
    for (const std::int64_t rows : {32, 1, 0}) {
      for (const bool of_residual : {false, true}) {
        const Problem problem(g, of_residual, rows);
        problem.check(run_op(problem.op(), problem.inputs, rows), problem.normalized(problem.convolved()));
      }
    }
  }
}

TEST_CASE("a convolution that leaves its normalization's sums is the two, with bias, residual, and means far from 0") {
  std::vector<std::string> plans;
  const KernelRegistry registry = always_with_sums(plans);
  std::string why_none;
  std::size_t runs = 0;
  for (const Conv2dGeometry& g : kNormalized) {
    for (const bool of_residual : {false, true}) {
      // Channel 0 adds up numbers near 1: without padding its mean is a hundred deviations.
      const std::int64_t filters = g.kernel[3];
      const Problem problem(
          g, of_residual, 32, [](std::int64_t, double u) { return 1 + 0.14 * u; },
          [filters](std::int64_t i, double u) { return i % filters == 0 ? 1.0 : u; });
      try {
        const auto found = run_once(problem.op(), problem.inputs, 32, {}, registry);
        ++runs;
        // From the convolution's output as it is stored, which is compared by itself.
        std::vector<Values> expected = problem.normalized(found[5]);
        expected[5] = problem.convolved();
        problem.check(found, expected);
        if (g.kernel[0] == 1) CHECK(distance_from_zero(found[5], 0) > 50);
      } catch (const NoPlan& error) {
        why_none = error.what();
      }
    }
  }
  if (testing::skip_without(runs > 0, ("a plan of cuDNN's with sums: " + why_none).c_str())) return;
  CHECK(plans.size() == runs);
  for (const std::string& plan : plans) CHECK(plan.find("compiled at run time") != std::string::npos);
}
