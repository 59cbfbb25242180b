// What the libraries leave as [out, height, width, in].
#include <doctest/doctest.h>

#include "kernels/conv2d_geometries.h"
#include "kernels/cuda/merge.h"
#include "kernels/harness_parts.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

TEST_CASE("a filter's gradient in OHWI is the other one in another order") {
  for (const DType dtype : kFloatTypes) {
    for (const Conv2dGeometry& g : kSmall) {
      const ValueSpec inferred[] = {{dtype, g.image, true}, {DType::kFloat32, g.kernel, false}};
      const Shape y = ops::Conv2d(g.attributes).infer(inferred)[0].shape;
      const ops::Conv2dWeightGradient op(g.attributes, g.kernel, g.with_bias);
      const Inputs inputs = random_inputs({batched(dtype, g.image), batched(dtype, y)}, 5);
      const auto expected = run_op(op, inputs, 5), found = run_op(cuda::Conv2dOhwiWeightGradient(op), inputs, 5);
      Values canonical = found[0];
      const std::int64_t out = g.kernel.back(), taps = g.kernel.elements() / out;
      for (std::int64_t i = 0; i < g.kernel.elements(); ++i) canonical[i % taps * out + i / taps] = found[0][i];
      compare(canonical, expected[0], 0, "kernel " + g.kernel.text());
      if (g.with_bias) compare(found[1], expected[1], 0, "bias of kernel " + g.kernel.text());
    }
  }
}
