#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/update.h"

namespace mirrortrain::cuda {
namespace {

__global__ void __launch_bounds__(kBlock) read_vector(const float* vector, std::int64_t count, double* to) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) to[i] = static_cast<double>(vector[i]);
}

/// A block for each product of `lines` of the matrix, along `along`, with a vector.
__global__ void __launch_bounds__(kBlock) multiply(scalar::StridedAxes lines, scalar::StridedAxes along,
                                                   const float* weights, const double* vector, double* products) {
  const std::int64_t count = lines.count(), terms = along.count();
  for (std::int64_t line = blockIdx.x; line < count; line += gridDim.x) {
    const float* const first = weights + lines.offset(line);
    double sum = 0;
    for (std::int64_t term = threadIdx.x; term < terms; term += blockDim.x) {
      sum += static_cast<double>(first[along.offset(term)]) * vector[term];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) products[line] = sum;
  }
}

/// One block. `length`: the vector's, before.
__global__ void __launch_bounds__(kBlock) scale_to_length_one(double* vector, std::int64_t count, double* length) {
  double squares = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) squares += vector[i] * vector[i];
  squares = block_sum(squares);
  const double factor = scalar::to_length_one(squares);
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) vector[i] *= factor;
  if (threadIdx.x == 0) *length = squares * factor;
}

__global__ void __launch_bounds__(kBlock)
    divide(scalar::WeightMatrix matrix, const double* estimate, const double* of_columns, float* weights,
           bfloat16* rounded, float* vector) {
  if (*estimate == 0) return;
  const auto divisor = static_cast<float>(*estimate);
  const std::int64_t columns = matrix.columns.count(), count = matrix.rows.count() * columns;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t at = matrix.rows.offset(i / columns) + matrix.columns.offset(i % columns);
    weights[at] /= divisor;
    if (rounded != nullptr) rounded[at] = bfloat16(weights[at]);
    if (i < columns) vector[i] = static_cast<float>(of_columns[i]);
  }
}

}  // namespace

void normalize_spectrum(Stream& stream, const scalar::WeightMatrix& matrix, float* weights, bfloat16* rounded,
                        float* vector, double* scratch) {
  const std::int64_t rows = matrix.rows.count(), columns = matrix.columns.count();
  double *const of_rows = scratch, *const of_columns = scratch + rows, *const length = of_columns + columns;
  launch(stream, blocks_for(columns), kBlock, 0, read_vector, vector, columns, of_columns);
  for (int i = 0; i < matrix.iterations; ++i) {
    launch(stream, blocks_for(rows, 1), kBlock, 0, multiply, matrix.rows, matrix.columns, weights, of_columns, of_rows);
    launch(stream, 1, kBlock, 0, scale_to_length_one, of_rows, rows, length + 1);
    launch(stream, blocks_for(columns, 1), kBlock, 0, multiply, matrix.columns, matrix.rows, weights, of_rows,
           of_columns);
    launch(stream, 1, kBlock, 0, scale_to_length_one, of_columns, columns, length);
  }
  launch(stream, blocks_for(rows * columns), kBlock, 0, divide, matrix, length, of_columns, weights, rounded, vector);
}

}  // namespace mirrortrain::cuda
