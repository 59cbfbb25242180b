#include "device/cuda/cuda_check.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::cuda {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  int device = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  cudaGetLastError();  // told here; must not be told again for a call that works
  throw Error(fmt::format("{} failed on {}: {} ({})", call, known ? fmt::format("cuda:{}", device) : "a GPU",
                          cudaGetErrorString(error), cudaGetErrorName(error)));
}

CurrentDevice::CurrentDevice(int index) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ != index) check(cudaSetDevice(index), "cudaSetDevice");
}

CurrentDevice::~CurrentDevice() { cudaSetDevice(before_); }

}  // namespace mirrortrain::cuda
