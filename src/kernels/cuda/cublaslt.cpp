#include "kernels/cuda/cublaslt.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::cuda {
namespace {

CublasLtLibrary open() {
  const SharedLibrary library(fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000));
  const auto load = [&](auto& function, const char* name) {
    function = library.symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  CublasLtLibrary blas{};
  load(blas.get_status_string, "cublasLtGetStatusString");
  load(blas.create, "cublasLtCreate");
  load(blas.destroy, "cublasLtDestroy");
  load(blas.matmul, "cublasLtMatmul");
  load(blas.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(blas.create_operation, "cublasLtMatmulDescCreate");
  load(blas.destroy_operation, "cublasLtMatmulDescDestroy");
  load(blas.set_operation, "cublasLtMatmulDescSetAttribute");
  load(blas.create_layout, "cublasLtMatrixLayoutCreate");
  load(blas.destroy_layout, "cublasLtMatrixLayoutDestroy");
  load(blas.create_preference, "cublasLtMatmulPreferenceCreate");
  load(blas.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  load(blas.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  return blas;
}

}  // namespace

const CublasLtLibrary& cublaslt_library() {
  static const CublasLtLibrary library = open();
  return library;
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(fmt::format("{} failed: {}", call, cublaslt_library().get_status_string(status)));
  }
}

CublasLt::CublasLt(int gpu, const MathOptions& options) : options_(options), gpu_(gpu) {
  const CurrentDevice current(gpu);
  check(cublaslt_library().create(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() { cublaslt_library().destroy(handle_); }

}  // namespace mirrortrain::cuda
