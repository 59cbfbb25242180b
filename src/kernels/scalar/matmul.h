#pragma once

#include "graph/ops/matmul.h"
#include "kernels/scalar/walk.h"

// Where the matrices of ops::MatMul are, for all devices.
namespace mirrortrain::scalar {

struct MatrixWalk {
  Walk<2> matrices;  ///< the first elements of a's and b's matrices, by the output's number
  std::int64_t rows, columns, steps;
  std::int64_t a_row, a_step, b_step, b_column;  ///< strides

  MatrixWalk(const ops::MatMul& op, const Shape& a, const Shape& b, const Shape& y) {
    const std::size_t axes = y.rank();
    // An operand without rows has one axis less.
    const Strides of_a = stretched_strides(a, y), of_b = stretched_strides(b, y);
    const auto leading = [](const auto& from) { return std::vector<std::int64_t>(from.begin(), from.end() - 2); };
    matrices = Walk<2>(Shape(leading(y)), {leading(of_a), leading(of_b)});
    rows = y[axes - 2];
    columns = y[axes - 1];
    steps = a[a.rank() - (op.transpose_a ? 2 : 1)];
    const std::int64_t a_line = a.back(), b_line = b.back();
    a_row = op.transpose_a ? 1 : a_line;
    a_step = op.transpose_a ? a_line : 1;
    b_step = op.transpose_b ? 1 : b_line;
    b_column = op.transpose_b ? b_line : 1;
  }
};

}  // namespace mirrortrain::scalar
