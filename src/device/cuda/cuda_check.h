#pragma once

#include <cuda_runtime_api.h>

namespace mirrortrain::cuda {

/// Throws Error naming the call, the thread's current GPU and what failed, where `error` is one. As
/// check(cudaMemcpyAsync(...), "cudaMemcpyAsync").
void check(cudaError_t error, const char* call);

/// Makes a GPU the thread's current one, and the former one again at the end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace mirrortrain::cuda
