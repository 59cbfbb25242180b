#include "kernels/scalar/weight_spectrum.h"

#include "kernels/cpu/update.h"

namespace mirrortrain::cpu {
namespace {

/// Scales a vector to length 1. Returns the sum of its squares.
double scale_to_length_one(double* vector, std::int64_t count) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += vector[i] * vector[i];
  const double factor = scalar::to_length_one(squares);
  for (std::int64_t i = 0; i < count; ++i) vector[i] *= factor;
  return squares;
}

}  // namespace

void normalize_spectrum(const scalar::WeightMatrix& matrix, float* weights, float* vector, double* scratch) {
  const std::int64_t rows = matrix.rows.count(), columns = matrix.columns.count();
  double *const of_rows = scratch, *const of_columns = scratch + rows;
  for (std::int64_t c = 0; c < columns; ++c) of_columns[c] = static_cast<double>(vector[c]);
  double estimate = 0;
  for (int i = 0; i < matrix.iterations; ++i) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const row = weights + matrix.rows.offset(r);
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) {
        sum += static_cast<double>(row[matrix.columns.offset(c)]) * of_columns[c];
      }
      of_rows[r] = sum;
    }
    scale_to_length_one(of_rows, rows);
    for (std::int64_t c = 0; c < columns; ++c) of_columns[c] = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const row = weights + matrix.rows.offset(r);
      for (std::int64_t c = 0; c < columns; ++c) {
        of_columns[c] += static_cast<double>(row[matrix.columns.offset(c)]) * of_rows[r];
      }
    }
    // The product of this vector as it is and at length 1 is the singular value.
    const double squares = scale_to_length_one(of_columns, columns);
    estimate = squares * scalar::to_length_one(squares);
  }
  if (estimate == 0) return;
  for (std::int64_t c = 0; c < columns; ++c) vector[c] = static_cast<float>(of_columns[c]);
  const auto divisor = static_cast<float>(estimate);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const row = weights + matrix.rows.offset(r);
    for (std::int64_t c = 0; c < columns; ++c) row[matrix.columns.offset(c)] /= divisor;
  }
}

}  // namespace mirrortrain::cpu
