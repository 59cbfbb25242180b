#include "graph/ops/group_norm.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

/// Which mean an element belongs to.
std::int64_t group_of(const ops::GroupNormAttributes& norm, const Shape& x, std::int64_t element) {
  const std::int64_t channels = x.back(), width = channels / norm.groups;
  const std::int64_t sample = norm.by_position ? element / channels : element / (x.elements() / x[0]);
  return sample * norm.groups + element % channels / width;
}

Reference normalized(const ops::GroupNormAttributes& norm) {
  return [=](const std::vector<Values>& inputs) {
    const Values& x = inputs[0];
    std::int64_t positions = 1;
    for (std::size_t axis = 1; axis + 1 < x.shape.rank(); ++axis) positions *= x.shape[axis];
    const Shape found{x.rows(), norm.by_position ? positions * norm.groups : norm.groups};
    Values mean = filled(found), count = filled(found), variance = filled(found), y = x;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      mean[group_of(norm, x.shape, i)] += x[i];
      count[group_of(norm, x.shape, i)] += 1;
    }
    for (std::int64_t g = 0; g < mean.elements(); ++g) mean[g] /= count[g];
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t g = group_of(norm, x.shape, i);
      variance[g] += (x[i] - mean[g]) * (x[i] - mean[g]) / count[g];
    }
    for (double& value : variance.data) value = 1 / std::sqrt(value + static_cast<double>(norm.epsilon));
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t g = group_of(norm, x.shape, i), c = i % x.shape.back();
      y[i] = (x[i] - mean[g]) * variance[g] * (inputs[1].absent ? 1 : inputs[1][c]) +
             (inputs[2].absent ? 0 : inputs[2][c]);
    }
    return std::vector<Values>{y, mean, variance};
  };
}

}  // namespace

TEST_CASE("layer and group normalization match a reference in double") {
  struct Norm {
    Shape row;
    ops::GroupNormAttributes attributes;
  };
  for (const Norm& norm :
       {Norm{{17}, {.by_position = true}}, Norm{{3, 4, 40}, {.by_position = true}}, Norm{{5, 2}, {.by_position = true}},
        Norm{{1100}, {.by_position = true}}, Norm{{24}, {.by_position = true}}, Norm{{2, 264}, {.by_position = true}},
        Norm{{768}, {.by_position = true}}, Norm{{2048}, {.by_position = true}}, Norm{{3, 4, 6}, {.groups = 3}},
        Norm{{5, 5, 32}, {.groups = 2}}, Norm{{4, 7}, {.groups = 1}}, Norm{{4, 3, 5}, {.groups = 5}},
        Norm{{6}, {.groups = 2}}}) {
    for (const DType dtype : kFloatTypes) {
      for (const bool scaled : {true, false}) {
        const Shape channels{norm.row.back()};
        const Case test{.name = fmt::format("{} {}{}", name_of(dtype), norm.row.text(), scaled ? "" : " unscaled"),
                        .op = std::make_shared<ops::GroupNorm>(norm.attributes),
                        .inputs = {batched(dtype, norm.row, [](std::int64_t, double u) { return 3 + 2 * u; }),
                                   scaled ? fixed(channels, [](std::int64_t, double u) { return 1.5 + u; }) : absent(),
                                   scaled ? fixed(channels) : absent()},
                        .reference = normalized(norm.attributes),
                        .rows = {7, 1, 0},
                        .tolerance = dtype == DType::kFloat32 ? 5e-6 : 2e-2};
        check_forward(test);
        check_gradient(test, {true, scaled, scaled});
      }
    }
  }
}

TEST_CASE("channels that cannot be split into the groups are refused") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {3, 4}, true});
  CHECK_THROWS_WITH(graph.apply(ops::GroupNorm({.groups = 3}), {x, kNoValue, kNoValue}),
                    "group_norm: expected channels that can be split into 3 groups, found float32 [3, 4] per row");
}
