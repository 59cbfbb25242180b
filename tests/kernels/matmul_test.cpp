#include "graph/ops/matmul.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct Shapes {
  Shape a, b;  ///< as stored
  bool transpose_a = false, transpose_b = false;
};

/// The product written plainly, with rows in front where an operand has them.
std::vector<Values> product(const std::vector<Values>& inputs, const Shape& row, const Shapes& of) {
  const Values &a = inputs[0], &b = inputs[1];
  const std::size_t axes = row.rank();
  const bool has_rows = a.shape.rank() > axes || b.shape.rank() > axes;
  Values y = filled(has_rows ? row.with_rows(a.shape.rank() > axes ? a.rows() : b.rows()) : row);
  const std::int64_t n = row[axes - 2], m = row[axes - 1], k = of.transpose_a ? of.a[axes - 2] : of.a[axes - 1];
  const auto matrix = [&](const Values& from, const Shape& own, std::int64_t number) {
    std::int64_t place = 0, step = own[axes - 2] * own[axes - 1];
    for (std::size_t axis = axes - 2; axis-- > 0;) {
      place += own[axis] == 1 ? 0 : number % row[axis] * step;
      step *= own[axis];
      number /= row[axis];
    }
    return place + (from.shape.rank() > axes ? number * step : 0);
  };
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t number = i / (n * m), r = i / m % n, c = i % m;
    const std::int64_t at_a = matrix(a, of.a, number), at_b = matrix(b, of.b, number);
    for (std::int64_t s = 0; s < k; ++s) {
      y[i] += a[at_a + (of.transpose_a ? s * n + r : r * k + s)] * b[at_b + (of.transpose_b ? c * k + s : s * m + c)];
    }
  }
  return {y};
}

}  // namespace

TEST_CASE("matrices are multiplied, per row or with one for all, broadcast and transposed") {
  for (const Shapes& shapes :
       {Shapes{{4, 5}, {5, 70}}, Shapes{{5, 4}, {5, 3}, true}, Shapes{{4, 5}, {3, 5}, false, true},
        Shapes{{5, 4}, {3, 5}, true, true}, Shapes{{2, 3, 4, 5}, {1, 3, 5, 6}}, Shapes{{1, 4, 5}, {3, 5, 1}},
        Shapes{{3, 1, 7}, {1, 7, 2}}}) {
    for (const DType dtype : kFloatTypes) {
      for (const auto& [rows_a, rows_b] : {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
        const std::size_t leading = shapes.a.rank() - 2;
        const bool broadcasts =
            !std::equal(shapes.a.begin(), shapes.a.begin() + static_cast<std::ptrdiff_t>(leading), shapes.b.begin());
        if (broadcasts && !rows_a && !rows_b) continue;  // refused
        const ops::MatMul op(shapes.transpose_a, shapes.transpose_b);
        const std::vector<Operand> inputs = {rows_a ? batched(dtype, shapes.a) : fixed(shapes.a),
                                             rows_b ? batched(dtype, shapes.b) : fixed(shapes.b)};
        const ValueSpec specs[] = {inputs[0].spec, inputs[1].spec};
        const Shape row = op.infer(specs)[0].shape;
        const Case test{
            .name = fmt::format("{} {} {} {}{}", name_of(dtype), shapes.a.text(), shapes.b.text(), rows_a, rows_b),
            .op = std::make_shared<ops::MatMul>(op),
            .inputs = inputs,
            .reference = [=](const std::vector<Values>& x) { return product(x, row, shapes); },
            .tolerance = dtype == DType::kBfloat16 ? 1e-2 : 4e-6};
        check_forward(test);
        check_gradient(test, {true, true});
      }
    }
  }
}

TEST_CASE("matrices that do not fit are refused with both shapes") {
  Graph graph;
  const ValueId a = graph.input("a", {DType::kFloat32, {4, 5}, true});
  CHECK_THROWS_WITH(graph.apply_one(ops::MatMul(), {a, graph.input("b", {DType::kFloat32, {4, 5}, true})}),
                    "matmul: expected as many rows in b as columns in a, float32 [4, 5] per row, found float32 [4, 5] "
                    "per row");
  CHECK_THROWS(graph.apply_one(ops::MatMul(), {a, graph.input("c", {DType::kFloat32, {5}, true})}));
  CHECK_THROWS(graph.apply_one(ops::MatMul(), {a, graph.input("d", {DType::kFloat32, {2, 5, 5}, true})}));
}
