#pragma once

#include "kernels/cuda/cublaslt_product.h"

namespace mirrortrain::cuda {

/// A CublasLtProduct that copies wide factors whose rows would not all begin at 16 bytes, as the logits of 50,257
/// tokens: a pass over them costs less than a multiplication that loads their elements one by one.
class PaddedProduct {
 public:
  /// As CublasLtProduct::make.
  static std::optional<PaddedProduct> make(std::shared_ptr<CublasLt> blas, Factor left, Factor right, DType dtype,
                                           DType c_dtype, CublasLtProduct::Epilogue epilogue,
                                           std::int64_t c_stride = 0);

  std::size_t workspace_bytes() const { return left_.bytes + right_.bytes + product_.workspace_bytes(); }
  /// As CublasLtProduct::enqueue.
  void enqueue(Stream& stream, const std::byte* left, const std::byte* right, std::byte* c, void* vector,
               std::byte* workspace, void* gelu_input = nullptr);

 private:
  /// A factor's copy; none if `bytes` is 0.
  struct Copy {
    DType dtype = DType::kFloat32;
    std::int64_t rows = 0, columns = 0, stride = 0;
    std::size_t bytes = 0;

    /// Of a factor, which then has the copy's stride.
    Copy(Factor& factor, DType of);
    /// Returns where the factor is, the copy at `to` if there is one.
    const std::byte* enqueue(Stream& stream, const std::byte* from, std::byte* to) const;
  };

  PaddedProduct(const Copy& left, const Copy& right, CublasLtProduct product)
      : left_(left), right_(right), product_(std::move(product)) {}

  Copy left_, right_;
  CublasLtProduct product_;
};

}  // namespace mirrortrain::cuda
