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
  CublasLtLibrary blas{};
  library.load(blas.get_version, "cublasLtGetVersion");
  library.load(blas.get_status_string, "cublasLtGetStatusString");
  library.load(blas.create, "cublasLtCreate");
  library.load(blas.destroy, "cublasLtDestroy");
  library.load(blas.matmul, "cublasLtMatmul");
  library.load(blas.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.load(blas.create_operation, "cublasLtMatmulDescCreate");
  library.load(blas.destroy_operation, "cublasLtMatmulDescDestroy");
  library.load(blas.set_operation, "cublasLtMatmulDescSetAttribute");
  library.load(blas.create_layout, "cublasLtMatrixLayoutCreate");
  library.load(blas.destroy_layout, "cublasLtMatrixLayoutDestroy");
  library.load(blas.create_preference, "cublasLtMatmulPreferenceCreate");
  library.load(blas.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  library.load(blas.set_preference, "cublasLtMatmulPreferenceSetAttribute");
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

CublasLt::~CublasLt() {
  const CurrentDevice current(gpu_, std::nothrow);
  cublaslt_library().destroy(handle_);
}

}  // namespace mirrortrain::cuda
