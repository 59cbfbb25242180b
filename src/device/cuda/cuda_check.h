#pragma once

#include <cuda_runtime_api.h>

#include <new>

namespace mirrortrain::cuda {

/// Throws Error naming the call, the thread's current GPU and the reason if `error` is one. Example:
/// check(cudaMemcpyAsync(...), "cudaMemcpyAsync").
void check(cudaError_t error, const char* call);
/// The same for a call about something on `gpu`, regardless of the thread's current one: one thread waits for the
/// streams of all GPUs.
void check(cudaError_t error, const char* call, int gpu);

/// Makes a GPU this thread's own, which is current unless a CurrentDevice changes it.
void enter_device(int index);

/// Makes a GPU the thread's current one, and restores the thread's own at the end. A thread without its own keeps this
/// one: restoring the previous one, by default GPU 0, would create a context there, which takes hundreds of MB.
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
