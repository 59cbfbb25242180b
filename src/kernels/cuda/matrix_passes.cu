#include "base/bfloat16.h"
#include "base/error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/pack.h"

namespace mirrortrain::cuda {
namespace {

/// A warp reads or writes a row of a tile at once; a block of kTile x kTileRows threads processes a tile.
constexpr int kTile = 32, kTileRows = 8;

/// Rows that one thread adds into a partial sum: enough to be worth a block, few enough to fill a GPU.
constexpr std::int64_t kRowsOfPart = 256;

std::int64_t tiles_of(std::int64_t extent) { return (extent + kTile - 1) / kTile; }
std::int64_t parts_of(std::int64_t rows) { return (rows + kRowsOfPart - 1) / kRowsOfPart; }
unsigned grid_of(std::int64_t tiles) { return blocks_for(tiles, 1); }

template <class From, class To>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose_tiles(std::int64_t rows, std::int64_t columns, const From* from, To* to) {
  __shared__ float tile[kTile][kTile + 1];  // the odd length keeps a column's elements in different banks
  const std::int64_t across = (columns + kTile - 1) / kTile, tiles = across * ((rows + kTile - 1) / kTile);
  const auto x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (std::int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const std::int64_t row = index / across * kTile, column = index % across * kTile;
    for (int i = y; i < kTile; i += kTileRows) {
      if (row + i < rows && column + x < columns) {
        tile[i][x] = static_cast<float>(from[(row + i) * columns + column + x]);
      }
    }
    __syncthreads();
    for (int i = y; i < kTile; i += kTileRows) {
      if (column + i < columns && row + x < rows) to[(column + i) * rows + row + x] = To(tile[x][i]);
    }
    __syncthreads();
  }
}

/// partial[part][column]: the sum over the part's `rows_of_part` rows.
template <class From>
__global__ void __launch_bounds__(kTile* kTileRows)
    sum_parts(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t rows_of_part, const From* from,
              float* partial) {
  __shared__ float sums[kTileRows][kTile];
  const std::int64_t across = (columns + kTile - 1) / kTile;
  const std::int64_t blocks = across * ((rows + rows_of_part - 1) / rows_of_part);
  for (std::int64_t index = blockIdx.x; index < blocks; index += gridDim.x) {
    const std::int64_t part = index / across, column = index % across * kTile + threadIdx.x;
    const std::int64_t end = (part + 1) * rows_of_part < rows ? (part + 1) * rows_of_part : rows;
    float sum = 0;
    if (column < columns) {
      for (std::int64_t row = part * rows_of_part + threadIdx.y; row < end; row += kTileRows) {
        sum += static_cast<float>(from[row * stride + column]);
      }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
      for (int i = 1; i < kTileRows; ++i) sum += sums[i][threadIdx.x];
      partial[part * columns + column] = sum;
    }
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    add_vector(std::int64_t elements, std::int64_t columns, std::int64_t stride, const T* vector, T* matrix) {
  for (std::int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const Division place = divide(i, columns);
    T& element = matrix[place.quotient * stride + place.rest];
    element = T(static_cast<float>(element) + static_cast<float>(vector[place.rest]));
  }
}

__global__ void __launch_bounds__(kBlock)
    to_float(std::int64_t elements, bool aligned, const bfloat16* from, float* to) {
  each_pack<kPackOf<bfloat16>>(elements, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    float value[kPackOf<bfloat16>];
    load(value, from + i, left, whole);
    store(to + i, value, left, whole);
  });
}

/// A thread writes a pack at a time, whose elements lie anywhere in the row.
template <class T>
__global__ void __launch_bounds__(kBlock) copy_rows(std::int64_t rows, std::int64_t columns, const T* from, T* to) {
  constexpr int kPack = kPackOf<T>;
  const std::int64_t packs = (columns + kPack - 1) / kPack;
  for (std::int64_t i = grid_thread(); i < rows * packs; i += grid_threads()) {
    const Division place = divide(i, packs);
    const std::int64_t first = place.rest * kPack;
    Pack<T, kPack> pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      pack.element[k] = first + k < columns ? from[place.quotient * columns + first + k] : T{};
    }
    *reinterpret_cast<Pack<T, kPack>*>(to + i * kPack) = pack;
  }
}

/// A thread writes a pack at a time, which may go on in the next row.
template <class From, class To>
__global__ void __launch_bounds__(kBlock) join_rows(std::int64_t elements, std::int64_t columns, std::int64_t stride,
                                                    bool aligned, const From* from, To* to) {
  constexpr int kPack = kPackOf<To>;
  each_pack<kPack>(elements, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    const Division place = divide(i, columns);
    const From* row = from + place.quotient * stride;
    std::int64_t column = place.rest;
    float value[kPack] = {};
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      if (k >= left) continue;
      value[k] = static_cast<float>(row[column]);
      if (++column < columns) continue;
      column = 0;
      row += stride;
    }
    store(to + i, value, left, whole);
  });
}

template <class Body>
void with_type(DType dtype, const Body& body) {
  if (dtype == DType::kFloat32) return body(float{});
  if (dtype == DType::kBfloat16) return body(bfloat16{});
  throw Error("a pass over a matrix on CUDA takes float32 or bfloat16, not " + std::string(name_of(dtype)));
}

const dim3 kBlockOfTile{kTile, kTileRows};

}  // namespace

void transpose(Stream& stream, std::int64_t rows, std::int64_t columns, DType from_dtype, const std::byte* from,
               DType to_dtype, std::byte* to) {
  with_type(from_dtype, [&]<class From>(From) {
    with_type(to_dtype, [&]<class To>(To) {
      launch(stream, grid_of(tiles_of(rows) * tiles_of(columns)), kBlockOfTile, 0, transpose_tiles<From, To>, rows,
             columns, reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to));
    });
  });
}

std::int64_t padded_stride(std::int64_t columns, DType dtype) {
  const auto pack = static_cast<std::int64_t>(16 / size_of(dtype));
  return (columns + pack - 1) / pack * pack;
}

void pad_rows(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* from,
              std::byte* to) {
  with_type(dtype, [&]<class T>(T) {
    launch(stream, blocks_for(rows * padded_stride(columns, dtype), kBlock * kPackOf<T>), kBlock, 0, copy_rows<T>, rows,
           columns, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

void compact_rows(Stream& stream, std::int64_t rows, std::int64_t columns, std::int64_t stride, DType from_dtype,
                  const std::byte* from, DType to_dtype, std::byte* to) {
  with_type(from_dtype, [&]<class From>(From) {
    with_type(to_dtype, [&]<class To>(To) {
      launch(stream, blocks_for(rows * columns, kBlock * kPackOf<To>), kBlock, 0, join_rows<From, To>, rows * columns,
             columns, stride, in_packs(to), reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to));
    });
  });
}

void to_float32(Stream& stream, std::int64_t elements, const std::byte* from, std::byte* to) {
  launch(stream, blocks_for(elements, kBlock * kPackOf<bfloat16>), kBlock, 0, to_float, elements, in_packs(from, to),
         reinterpret_cast<const bfloat16*>(from), reinterpret_cast<float*>(to));
}

void add_to_rows(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* bias,
                 std::byte* matrix, std::int64_t stride) {
  with_type(dtype, [&]<class T>(T) {
    launch(stream, blocks_for(rows * columns), kBlock, 0, add_vector<T>, rows * columns, columns,
           stride > 0 ? stride : columns, reinterpret_cast<const T*>(bias), reinterpret_cast<T*>(matrix));
  });
}

void column_sums(Stream& stream, std::int64_t rows, std::int64_t columns, DType dtype, const std::byte* from,
                 float* sums, std::byte* workspace, std::int64_t stride) {
  if (rows == 0) return stream.zero(reinterpret_cast<std::byte*>(sums), static_cast<std::size_t>(columns) * 4);
  std::int64_t parts = parts_of(rows);
  auto* partial = reinterpret_cast<float*>(workspace);
  with_type(dtype, [&]<class From>(From) {
    launch(stream, grid_of(tiles_of(columns) * parts), kBlockOfTile, 0, sum_parts<From>, rows, columns,
           stride > 0 ? stride : columns, kRowsOfPart, reinterpret_cast<const From*>(from),
           parts == 1 ? sums : partial);
  });
  // Parts of parts, so that no block adds many: three levels are enough for 16 million rows.
  while (parts > 1) {
    const std::int64_t fewer = parts_of(parts);
    float* const next = fewer == 1 ? sums : partial + parts * columns;
    launch(stream, grid_of(tiles_of(columns) * fewer), kBlockOfTile, 0, sum_parts<float>, parts, columns, columns,
           kRowsOfPart, partial, next);
    parts = fewer, partial = next;
  }
}

std::size_t column_sums_workspace(std::int64_t rows, std::int64_t columns) {
  std::int64_t all = 0;
  for (std::int64_t parts = parts_of(rows); parts > 1; parts = parts_of(parts)) all += parts;
  return static_cast<std::size_t>(all * columns) * sizeof(float);
}

}  // namespace mirrortrain::cuda
