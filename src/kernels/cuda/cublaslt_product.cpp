#include "kernels/cuda/cublaslt_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/trial.h"

namespace mirrortrain::cuda {
namespace {

/// Workspace limit of an algorithm: cuBLAS's own on a large GPU.
constexpr std::size_t kMostWorkspace = std::size_t{32} << 20;

/// Alignment of every matrix: variables and their gradients begin on cache lines, their bfloat16 copies on half of one.
/// By default, cuBLASLt assumes 256 bytes.
constexpr std::uint32_t kAlignment = 32;

cudaDataType type_of(DType dtype) { return dtype == DType::kFloat32 ? CUDA_R_32F : CUDA_R_16BF; }

cublasLtEpilogue_t epilogue_of(CublasLtProduct::Epilogue epilogue) {
  using enum CublasLtProduct::Epilogue;
  switch (epilogue) {
    case kRelu: return CUBLASLT_EPILOGUE_RELU;
    case kBias: return CUBLASLT_EPILOGUE_BIAS;
    case kReluBias: return CUBLASLT_EPILOGUE_RELU_BIAS;
    case kSumsOfRight: return CUBLASLT_EPILOGUE_BGRADA;  // right comes first in the transposed product
    case kGelu: return CUBLASLT_EPILOGUE_GELU;
    case kGeluBias: return CUBLASLT_EPILOGUE_GELU_BIAS;
    case kGeluKeepingInput: return CUBLASLT_EPILOGUE_GELU_AUX;
    case kGeluBiasKeepingInput: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case kGeluGradient: return CUBLASLT_EPILOGUE_DGELU;
    case kNone: break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool takes_vector(CublasLtProduct::Epilogue epilogue) {
  using enum CublasLtProduct::Epilogue;
  return epilogue == kBias || epilogue == kReluBias || epilogue == kSumsOfRight || epilogue == kGeluBias ||
         epilogue == kGeluBiasKeepingInput;
}

bool takes_gelu_input(CublasLtProduct::Epilogue epilogue) {
  using enum CublasLtProduct::Epilogue;
  return epilogue == kGeluKeepingInput || epilogue == kGeluBiasKeepingInput || epilogue == kGeluGradient;
}

/// What CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD must be divisible by.
constexpr std::int64_t kGeluInputMultiple = 8;

Factor result_of(const Factor& left, const Factor& right, std::int64_t stride) {
  return {left.transposed ? left.columns : left.rows, right.transposed ? right.rows : right.columns, false, stride};
}

}  // namespace

template <class Value>
void CublasLtProduct::set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublaslt_library().set_operation(operation_.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

CublasLtProduct::Layout CublasLtProduct::layout(DType dtype, const Factor& matrix) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublaslt_library().create_layout(&made, type_of(dtype), static_cast<std::uint64_t>(matrix.columns),
                                         static_cast<std::uint64_t>(matrix.rows),
                                         matrix.stride > 0 ? matrix.stride : matrix.columns),
        "cublasLtMatrixLayoutCreate");
  return Layout(made);
}

CublasLtProduct::CublasLtProduct(std::shared_ptr<CublasLt> blas, const Factor& left, const Factor& right,
                                 const Factor& c, DType dtype, DType c_dtype, Epilogue epilogue)
    : blas_(std::move(blas)),
      left_(layout(dtype, left)),
      right_(layout(dtype, right)),
      c_(layout(c_dtype, c)),
      c_dtype_(c_dtype),
      with_vector_(takes_vector(epilogue)),
      with_gelu_input_(takes_gelu_input(epilogue)) {
  const bool tf32 = dtype == DType::kFloat32 && blas_->options().tf32;
  cublasLtMatmulDesc_t made = nullptr;
  check(
      cublaslt_library().create_operation(&made, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
      "cublasLtMatmulDescCreate");
  operation_.reset(made);
  // c^T = right^T · left^T, so right is cuBLASLt's A and left its B.
  set(CUBLASLT_MATMUL_DESC_TRANSA, right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(epilogue));
  // Algorithm selection does not dereference the pointers, but derives alignments from them: the minimum.
  if (with_vector_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, std::uintptr_t{kAlignment});
  if (with_gelu_input_) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, std::uintptr_t{kAlignment});
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, c.columns);
  }
}

std::vector<cublasLtMatmulHeuristicResult_t> CublasLtProduct::algorithms(std::size_t most) const {
  const CublasLtLibrary& library = cublaslt_library();
  cublasLtMatmulPreference_t made = nullptr;
  check(library.create_preference(&made), "cublasLtMatmulPreferenceCreate");
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&CublasLtLibrary::destroy_preference>> preference(
      made);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(library.set_preference(made, attribute, &value, sizeof(value)), "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(matrix, kAlignment);
  }
  // In-place reductions add partial sums in the order in which blocks finish. These, and reductions in c's dtype, round
  // partial sums to that dtype.
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (c_dtype_ == DType::kFloat32) {
    reductions |= CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    if (!blas_->options().deterministic) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  }
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  std::vector<cublasLtMatmulHeuristicResult_t> results(most);
  int found = 0;
  const cublasStatus_t status =
      library.heuristic(blas_->handle(), operation_.get(), right_.get(), left_.get(), c_.get(), c_.get(), made,
                        static_cast<int>(most), results.data(), &found);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

void CublasLtProduct::take_fastest(const std::vector<cublasLtMatmulHeuristicResult_t>& algorithms,
                                   const std::string& problem, std::vector<std::size_t> operand_bytes) {
  Candidates candidates;
  candidates.operand_bytes = std::move(operand_bytes);
  for (const auto& algorithm : algorithms) candidates.workspace_bytes.push_back(algorithm.workspaceSize);
  candidates.enqueue = [&](std::size_t i, CudaStream& stream, std::span<void* const> operands, std::byte* workspace) {
    const auto matrix = [&](std::size_t operand) { return static_cast<std::byte*>(operands[operand]); };
    algorithm_ = algorithms[i];
    enqueue(stream, matrix(0), matrix(1), matrix(2), operands[3], workspace, operands[4]);
  };
  const std::size_t fastest = choose_by_trial(blas_->choices(), problem, blas_->gpu(), candidates);
  algorithm_ = algorithms[fastest];
}

std::optional<CublasLtProduct> CublasLtProduct::make(std::shared_ptr<CublasLt> blas, const Factor& left,
                                                     const Factor& right, DType dtype, DType c_dtype, Epilogue epilogue,
                                                     std::int64_t c_stride) {
  const Factor c = result_of(left, right, c_stride);
  if (takes_gelu_input(epilogue) && c.columns % kGeluInputMultiple != 0) return std::nullopt;
  CublasLtProduct product(std::move(blas), left, right, c, dtype, c_dtype, epilogue);
  const bool autotune = product.blas_->options().autotune;
  const auto found = product.algorithms(autotune ? kMostCandidates : 1);
  if (found.empty()) return std::nullopt;
  product.algorithm_ = found.front();
  if (!autotune) return product;
  const auto bytes = [](std::int64_t elements, DType of) { return static_cast<std::size_t>(elements) * size_of(of); };
  const auto elements = [](const Factor& factor) {
    return factor.rows * (factor.stride > 0 ? factor.stride : factor.columns);
  };
  const auto text = [](const Factor& factor) {
    return fmt::format("{}x{}{}{}", factor.rows, factor.columns, factor.transposed ? " transposed" : "",
                       factor.stride > 0 ? fmt::format(" every {}", factor.stride) : "");
  };
  product.take_fastest(
      found,
      fmt::format("{} times {}, {} to {}{}, epilogue {}", text(left), text(right), name_of(dtype), name_of(c_dtype),
                  c_stride > 0 ? fmt::format(" every {}", c_stride) : "", static_cast<int>(epilogue)),
      {bytes(elements(left), dtype), bytes(elements(right), dtype), bytes(elements(c), c_dtype),
       product.with_vector_ ? bytes(c.columns, c_dtype) : 0,
       product.with_gelu_input_ ? bytes(elements(c), c_dtype) : 0});
  return product;
}

void CublasLtProduct::enqueue(Stream& stream, const std::byte* left, const std::byte* right, std::byte* c, void* vector,
                              std::byte* workspace, void* gelu_input) {
  if (with_vector_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  if (with_gelu_input_) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gelu_input);
  const float one = 1, zero = 0;
  check(cublaslt_library().matmul(blas_->handle(), operation_.get(), &one, right, right_.get(), left, left_.get(),
                                  &zero, c, c_.get(), c, c_.get(), &algorithm_.algo, workspace,
                                  algorithm_.workspaceSize, native(stream)),
        "cublasLtMatmul");
}

}  // namespace mirrortrain::cuda
