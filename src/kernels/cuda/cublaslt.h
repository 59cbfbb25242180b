#pragma once

#include <cublasLt.h>

#include <memory>

#include "kernels/cuda/backend.h"
#include "kernels/cuda/choices.h"

namespace mirrortrain::cuda {

/// cuBLASLt's functions.
struct CublasLtLibrary {
  decltype(&::cublasLtGetVersion) get_version;
  decltype(&::cublasLtGetStatusString) get_status_string;
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtDestroy) destroy;
  decltype(&::cublasLtMatmul) matmul;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&::cublasLtMatmulDescCreate) create_operation;
  decltype(&::cublasLtMatmulDescDestroy) destroy_operation;
  decltype(&::cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference;
};

/// Loaded at the first call. Throws Error if it is not found.
const CublasLtLibrary& cublaslt_library();

/// Throws Error naming the call and cuBLASLt's message if it failed.
void check(cublasStatus_t status, const char* call);

/// A GPU's cuBLASLt, for one lane.
class CublasLt {
 public:
  CublasLt(int gpu, const MathOptions& options);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  cublasLtHandle_t handle() const { return handle_; }
  const MathOptions& options() const { return options_; }
  /// The visible GPU's number.
  int gpu() const { return gpu_; }
  /// The cache of measured choices.
  Choices& choices() { return choices_; }

 private:
  MathOptions options_;
  int gpu_;
  cublasLtHandle_t handle_ = nullptr;
  Choices choices_;
};

}  // namespace mirrortrain::cuda
