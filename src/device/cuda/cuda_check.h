#pragma once

#include <cuda_runtime_api.h>

#include <new>

namespace mirrortrain::cuda {

/// Throws Error naming the call, the thread's current GPU and what failed, where `error` is one. As
/// check(cudaMemcpyAsync(...), "cudaMemcpyAsync").
void check(cudaError_t error, const char* call);
/// The same for a call about what is on `gpu`, whichever is the thread's: one thread waits for the streams of all.
void check(cudaError_t error, const char* call, int gpu);

/// Makes a GPU this thread's own, current whenever no CurrentDevice says otherwise.
void enter_device(int index);

/// Makes a GPU the thread's current one, and its own one again at the end. A thread without one is left with this:
/// going back to what was current, GPU 0 unless set otherwise, would make a context there, which takes hundreds of MB.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index);
  /// For destructors, which may run after the GPU failed.
  CurrentDevice(int index, std::nothrow_t) noexcept;
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int index_;
};

}  // namespace mirrortrain::cuda
