#include "kernels/cuda/padded_product.h"

#include "kernels/cuda/matrix_passes.h"

namespace mirrortrain::cuda {

PaddedProduct::Copy::Copy(Factor& factor, DType of)
    : dtype(of), rows(factor.rows), columns(factor.columns), stride(padded_stride(columns, of)) {
  if (columns < kWideRows || stride == columns || factor.stride > 0) return;
  factor.stride = stride;
  bytes = static_cast<std::size_t>(rows * stride) * size_of(dtype);
  bytes = (bytes + 255) / 256 * 256;
}

const std::byte* PaddedProduct::Copy::enqueue(Stream& stream, const std::byte* from, std::byte* to) const {
  if (bytes == 0) return from;
  pad_rows(stream, rows, columns, dtype, from, to);
  return to;
}

std::optional<PaddedProduct> PaddedProduct::make(std::shared_ptr<CublasLt> blas, Factor left, Factor right, DType dtype,
                                                 DType c_dtype, CublasLtProduct::Epilogue epilogue,
                                                 std::int64_t c_stride) {
  const Copy of_left(left, dtype), of_right(right, dtype);
  auto product = CublasLtProduct::make(std::move(blas), left, right, dtype, c_dtype, epilogue, c_stride);
  if (!product) return std::nullopt;
  return PaddedProduct(of_left, of_right, std::move(*product));
}

void PaddedProduct::enqueue(Stream& stream, const std::byte* left, const std::byte* right, std::byte* c, void* vector,
                            std::byte* workspace, void* gelu_input) {
  std::byte *const for_right = workspace + left_.bytes, *const for_product = for_right + right_.bytes;
  left = left_.enqueue(stream, left, workspace);
  right = right_.enqueue(stream, right, for_right);
  product_.enqueue(stream, left, right, c, vector, for_product, gelu_input);
}

}  // namespace mirrortrain::cuda
