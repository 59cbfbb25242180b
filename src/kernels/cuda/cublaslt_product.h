#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "device/device.h"
#include "kernels/cuda/cublaslt.h"

namespace mirrortrain::cuda {

/// A row-major matrix; column-major cuBLASLt sees its transpose.
struct Factor {
  std::int64_t rows = 0, columns = 0;  ///< row-major
  bool transposed = false;             ///< in the product
  std::int64_t stride = 0;             ///< elements from one row to the next; 0: as many as there are columns
};

/// c = left · right with an epilogue. All row-major; products are accumulated in float32.
class CublasLtProduct {
 public:
  enum class Epilogue {
    kNone,
    kRelu,
    kBias,  ///< `vector`, as long as a row of c and in its dtype, is added to each row
    kReluBias,
    kSumsOfRight,  ///< `vector` gets the sums of right's columns, in c's dtype
    // gelu's approximation by tanh. `gelu_input`: a matrix like c, whose rows are multiples of 8 elements.
    kGelu,
    kGeluBias,
    kGeluKeepingInput,      ///< also writes `gelu_input`
    kGeluBiasKeepingInput,  ///< likewise, the bias included
    kGeluGradient,          ///< c is multiplied by the function's derivative at `gelu_input`
  };

  /// `dtype` is that of left and right. `c_stride`: as Factor::stride, of c. Uses the algorithm that cuBLASLt's
  /// heuristics rank first or, if the options say so, the one measured fastest. nullopt if cuBLASLt has no algorithm
  /// for it with this epilogue.
  static std::optional<CublasLtProduct> make(std::shared_ptr<CublasLt> blas, const Factor& left, const Factor& right,
                                             DType dtype, DType c_dtype, Epilogue epilogue, std::int64_t c_stride = 0);

  std::size_t workspace_bytes() const { return algorithm_.workspaceSize; }
  void enqueue(Stream& stream, const std::byte* left, const std::byte* right, std::byte* c, void* vector,
               std::byte* workspace, void* gelu_input = nullptr);

 private:
  template <auto kDestroy>
  struct Destroy {
    template <class Pointer>
    void operator()(Pointer* object) const {
      (cublaslt_library().*kDestroy)(object);
    }
  };
  using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&CublasLtLibrary::destroy_operation>>;
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&CublasLtLibrary::destroy_layout>>;

  CublasLtProduct(std::shared_ptr<CublasLt> blas, const Factor& left, const Factor& right, const Factor& c, DType dtype,
                  DType c_dtype, Epilogue epilogue);
  static Layout layout(DType dtype, const Factor& matrix);
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value);
  /// Up to `most` algorithms, in the order of cuBLASLt's heuristics.
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(std::size_t most) const;
  /// Selects the one of `algorithms` that is measured fastest. `operand_bytes`: of left, right, c, `vector` and
  /// `gelu_input`.
  void take_fastest(const std::vector<cublasLtMatmulHeuristicResult_t>& algorithms, const std::string& problem,
                    std::vector<std::size_t> operand_bytes);

  std::shared_ptr<CublasLt> blas_;
  Operation operation_;
  Layout left_, right_, c_;
  DType c_dtype_;
  bool with_vector_, with_gelu_input_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace mirrortrain::cuda
