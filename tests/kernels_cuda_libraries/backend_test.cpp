// What the CUDA backend decides without a GPU.
#include "kernels/cuda/backend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/op_names.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"

using namespace mirrortrain;

namespace {

/// A convolution, its normalization and that one's gradient, as a program has them.
struct Normalized {
  Graph graph;
  std::vector<ValueId> outputs;

  Normalized() {
    const ValueId x = graph.input("x", {DType::kBfloat16, {4, 4, 8}, true}), dy = graph.input("dy", graph.spec(x));
    const ValueId kernel = graph.variable({"kernel", {3, 3, 8, 8}});
    const ValueId mean = graph.variable({"mean", {8}}), variance = graph.variable({"variance", {8}});
    const ValueId y = graph.apply_one(ops::Conv2d({.padding = ops::Padding::kSame}), {x, kernel, kNoValue});
    const auto norm = graph.apply(ops::BatchNorm(0.9f, 1e-3f), {y, kNoValue, kNoValue, mean, variance});
    const auto gradients = graph.apply(ops::BatchNormGradient({}), {y, dy, kNoValue, norm[1], norm[2]});
    outputs = {norm[0], norm[3], norm[4], gradients[0]};
  }
};

}  // namespace

TEST_CASE("convolutions are merged with normalizations only where plans are measured and may add in any order") {
  const Normalized n;
  for (const bool autotune : {false, true}) {
    for (const bool deterministic : {false, true}) {
      INFO("autotune " << autotune << ", deterministic " << deterministic);
      const auto backend = cuda::make_backend({.deterministic = deterministic, .autotune = autotune});
      const std::vector<std::string> names = testing::op_names(backend->merged(n.graph, n.outputs));
      const bool is_merged = std::ranges::count(names, "conv2d_batch_norm") == 1;
      CHECK(is_merged == (autotune && !deterministic));
      CHECK(is_merged == (std::ranges::count(names, "conv2d") == 0));
    }
  }
}
