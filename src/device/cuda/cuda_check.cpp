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
  check(error, call, cudaGetDevice(&device) == cudaSuccess ? device : kNone);
}

void check(cudaError_t error, const char* call, int gpu) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // reported here; must not be reported again by a successful call
  throw Error(fmt::format("{} failed on {}: {} ({})", call, gpu != kNone ? fmt::format("cuda:{}", gpu) : "a GPU",
                          cudaGetErrorString(error), cudaGetErrorName(error)));
}

void enter_device(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
  own_device = index;
}

CurrentDevice::CurrentDevice(int index) : index_(index) { check(cudaSetDevice(index), "cudaSetDevice"); }

CurrentDevice::CurrentDevice(int index, std::nothrow_t) noexcept : index_(index) {
  if (cudaSetDevice(index) != cudaSuccess) cudaGetLastError();
}

CurrentDevice::~CurrentDevice() {
  if (own_device != kNone && own_device != index_) cudaSetDevice(own_device);
}

}  // namespace mirrortrain::cuda
