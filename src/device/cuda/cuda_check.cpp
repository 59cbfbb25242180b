#include "device/cuda/cuda_check.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::cuda {
namespace {

constexpr int kNone = -1;
thread_local int own_device = kNone;

}  // namespace

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  int device = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  cudaGetLastError();  // told here; must not be told again for a call that works
  throw Error(fmt::format("{} failed on {}: {} ({})", call, known ? fmt::format("cuda:{}", device) : "a GPU",
                          cudaGetErrorString(error), cudaGetErrorName(error)));
}

void enter_device(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
  own_device = index;
}

CurrentDevice::CurrentDevice(int index) : index_(index) { check(cudaSetDevice(index), "cudaSetDevice"); }

CurrentDevice::~CurrentDevice() {
  if (own_device != kNone && own_device != index_) cudaSetDevice(own_device);
}

}  // namespace mirrortrain::cuda
