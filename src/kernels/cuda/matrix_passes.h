#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "device/device.h"

// Passes over matrices around the libraries' matrix multiplications: derived forms of weights, and gradients of biases.
namespace mirrortrain::cuda {

/// to[column][row] = from[row][column] in `to_dtype`; both dtypes float32 or bfloat16.
void transpose(Stream& stream, std::int64_t rows, std::int64_t columns, DType from_dtype, const std::byte* from,
               DType to_dtype, std::byte* to);

/// The least multiple of 16 bytes that a row of so many elements fits into, in elements.
std::int64_t padded_stride(std::int64_t columns, DType dtype);

/// From how many columns on it is expected to pay that rows begin at 16 bytes: a guess, not yet measured.
inline constexpr std::int64_t kWideRows = 4096;

/// Copies rows so that each begins padded_stride() elements behind the one before; what lies between them is undefined.
/// `to` is aligned to 16 bytes.
void pad_rows(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* from,
              std::byte* to);

/// The first `columns` elements of rows that begin `stride` elements apart, in rows of just these in `to_dtype`; both
/// dtypes float32 or bfloat16.
void compact_rows(Stream& stream, std::int64_t rows, std::int64_t columns, std::int64_t stride, DType from_dtype,
                  const std::byte* from, DType to_dtype, std::byte* to);

/// float32 elements from bfloat16 ones.
void to_float32(Stream& stream, std::int64_t elements, const std::byte* from, std::byte* to);

/// matrix[row][column] += bias[column], all of `dtype`. `stride`: elements from one row to the next; 0: as many as
/// there are columns.
void add_to_rows(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* bias,
                 std::byte* matrix, std::int64_t stride = 0);

/// sums[column] = the sum of from[row][column] over all rows, in a fixed order. `workspace` holds
/// column_sums_workspace() bytes. `stride`: as of add_to_rows.
void column_sums(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* from,
                 float* sums, std::byte* workspace, std::int64_t stride = 0);
std::size_t column_sums_workspace(std::int64_t rows, std::int64_t columns);

}  // namespace mirrortrain::cuda
