// Convolutions that leave the sums of the normalization behind them, where that is measured to be faster.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/conv2d_geometries.h"
#include "kernels/cuda/merge_statistics.h"
#include "kernels/harness_parts.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

/// Linear, with channels as cuDNN's engines that compile take them, and as they do not.
const Conv2dGeometry kNormalized[] = {
    {{14, 14, 64}, {3, 3, 64, 64}, {.padding = ops::Padding::kSame}, false},
    {{14, 14, 64}, {1, 1, 64, 128}, {}, true},
    {{15, 13, 32}, {3, 3, 32, 64}, {.strides = {2, 2}, .padding = ops::Padding::kSame}, false},
    {{9, 9, 3}, {3, 3, 3, 5}, {}, false},
};

}  // namespace

TEST_CASE("a convolution with its normalization is the two, with a residual and without") {
  for (const Conv2dGeometry& g : kNormalized) {
    for (const std::int64_t rows : {32, 1, 0}) {
      for (const bool of_residual : {false, true}) {
        const Shape channels{g.kernel[3]};
        const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
        const Inputs conv_inputs = random_inputs(
            {batched(DType::kBfloat16, g.image), fixed(g.kernel), g.with_bias ? fixed(channels) : absent()}, rows);
        const Inputs vectors = random_inputs(
            {fixed(channels, positive), fixed(channels), fixed(channels), fixed(channels, positive)}, rows, 3);
        const ops::Conv2d conv(g.attributes);
        const ops::BatchNorm norm(0.9f, 1e-3f, {of_residual});
        const std::vector<Values> convolved = run_op(conv, conv_inputs, rows);
        const ValueSpec y{DType::kBfloat16,
                          conv.infer(std::vector{conv_inputs[0].first, conv_inputs[1].first})[0].shape, true};
        Inputs norm_inputs{{y, convolved[0]}};
        norm_inputs.insert(norm_inputs.end(), vectors.begin(), vectors.end());
        Inputs both = conv_inputs;
        both.insert(both.end(), vectors.begin(), vectors.end());
        std::vector<Values> expected = run_op(ops::BatchNorm(0.9f, 1e-3f), norm_inputs, rows);
        if (of_residual) {
          both.push_back(random_inputs({{y, {}}}, rows, 5)[0]);
          for (std::int64_t i = 0; i < expected[0].elements(); ++i) {
            expected[0][i] = std::max(0.0, expected[0][i] + both.back().second[i]);
          }
        }
        expected.push_back(convolved[0]);
        const auto found = run_op(cuda::Conv2dBatchNorm(conv, norm, of_residual), both, rows);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const bool is_image = i == 0 || i == 5;
          compare(found[i], expected[i], is_image ? 2e-2 : 1e-2,
                  fmt::format("{} rows of {} with {}, output {}", rows, g.image.text(), g.kernel.text(), i));
        }
      }
    }
  }
}
