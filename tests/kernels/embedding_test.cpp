#include "graph/ops/embedding.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct Table {
  std::int64_t rows, width;
  Shape numbers;
};
const Table kTables[] = {{7, 5, {4}}, {3, 33, {2, 3}}, {1, 1, {1}}, {301, 4, {40}}};

/// Rows come several times, and the first and last among them.
Fill numbers_below(std::int64_t rows) {
  return [=](std::int64_t, double u) {
    return std::min<double>(std::floor((u + 1) / 2 * double(rows)), double(rows - 1));
  };
}

std::vector<Values> looked_up(const std::vector<Values>& inputs) {
  std::vector<std::int64_t> dims = inputs[0].shape.dims();
  const std::int64_t width = inputs[1].shape.back();
  dims.push_back(width);
  Values y = filled(Shape(dims));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    y[i] = inputs[1][static_cast<std::int64_t>(inputs[0][i / width]) * width + i % width];
  }
  return {y};
}

}  // namespace

TEST_CASE("an embedding looks up rows of a table, and its gradient adds them up") {
  for (const DType dtype : kFloatTypes) {
    for (const Table& table : kTables) {
      const Case test{.name = fmt::format("embedding {} of {} rows", name_of(dtype), table.rows),
                      .op = std::make_shared<ops::Embedding>(dtype),
                      .inputs = {batched(DType::kFloat32, table.numbers, numbers_below(table.rows)),
                                 fixed({table.rows, table.width})},
                      .reference = looked_up,
                      .rows = {13, 1, 0},
                      .tolerance = dtype == DType::kFloat32 ? 2e-6 : 1e-2};
      check_forward(test);
      check_gradient(test, {false, true});
    }
  }
}

TEST_CASE("a number beyond the table gives NaN and adds to no row") {
  const ValueSpec numbers{DType::kFloat32, {3}, true}, table{DType::kFloat32, {2, 1}, false};
  const Values out{{1, 3}, {2, -1, 1}};
  const Values y = run_op(ops::Embedding(DType::kFloat32), {{numbers, out}, {table, {{2, 1}, {5, 6}}}}, 1)[0];
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 6);
  const ValueSpec gradient{DType::kFloat32, {3, 1}, true};
  const Values sum = run_op(ops::EmbeddingGradient(2), {{numbers, out}, {gradient, {{1, 3, 1}, {1, 2, 4}}}}, 1)[0];
  CHECK(sum.data == std::vector<double>{0, 4});
}

TEST_CASE("a part of a table gives rows of other parts as zeros, and NaN for a number beyond all of them") {
  ops::Embedding part(DType::kFloat32);
  part.first_row = 2;
  part.all_rows = 5;
  const ValueSpec numbers{DType::kFloat32, {5}, true}, table{DType::kFloat32, {2, 1}, false};
  const Values rows{{1, 5}, {1, 2, 3, 4, 5}};
  const Values y = run_op(part, {{numbers, rows}, {table, {{2, 1}, {6, 7}}}}, 1)[0];
  CHECK(std::vector<double>(y.data.begin(), y.data.begin() + 4) == std::vector<double>{0, 6, 7, 0});
  CHECK(std::isnan(y[4]));
  const ValueSpec gradient{DType::kFloat32, {5, 1}, true};
  const Values dy{{1, 5, 1}, {1, 2, 4, 8, 16}};
  CHECK(run_op(ops::EmbeddingGradient(2, 2), {{numbers, rows}, {gradient, dy}}, 1)[0].data ==
        std::vector<double>{2, 4});
}
