#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/cublaslt_product.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/recurrent_steps.h"

namespace mirrortrain::cuda {
namespace {

/// From where a matrix multiplication for all rows is expected to be faster than a few rows a block: a guess, not yet
/// measured. 128 rows of 64 units are just large enough.
bool is_wide(std::int64_t rows, std::int64_t units) { return units >= 64 && rows * units >= 8192; }

}  // namespace

void add_recurrent_products(KernelRegistry& registry, std::shared_ptr<CublasLt> blas) {
  const MakeStepProduct make = [blas](std::int64_t rows, std::int64_t inner, std::int64_t columns, bool transposed) {
    const Factor right = transposed ? Factor{columns, inner, true} : Factor{inner, columns};
    auto found = CublasLtProduct::make(blas, {rows, inner}, right, DType::kFloat32, DType::kFloat32,
                                       CublasLtProduct::Epilogue::kNone);
    if (!found) {
      throw Error(fmt::format("recurrent on cuda: cuBLASLt has no algorithm for {} x {} times {} x {} in float32", rows,
                              inner, inner, columns));
    }
    const auto product = std::make_shared<CublasLtProduct>(std::move(*found));
    return StepProduct{
        [product](Stream& stream, const float* left, const float* right_factor, float* c, std::byte* workspace) {
          product->enqueue(stream, reinterpret_cast<const std::byte*>(left),
                           reinterpret_cast<const std::byte*>(right_factor), reinterpret_cast<std::byte*>(c), nullptr,
                           workspace);
        },
        product->workspace_bytes()};
  };
  add_recurrent_kernels_by_steps(registry, make, is_wide);
}

}  // namespace mirrortrain::cuda
