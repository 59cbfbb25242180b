#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

namespace mirrortrain::cuda {

/// Only for ordering: without timing it is almost free.
class CudaEvent : public Event {
 public:
  /// On the thread's current GPU.
  CudaEvent();
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void synchronize() const override;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream : public Stream {
 public:
  /// On the thread's current GPU, not ordered with the default stream. `device` is that GPU's number.
  /// `urgent`: its kernels start before those of other streams.
  explicit CudaStream(int device, bool urgent = false);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void call(void (*function)(void*), void* argument) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  void synchronize() override;
  bool can_capture() const override { return true; }
  std::unique_ptr<Recording> capture(const std::function<void()>& enqueue) override;

  cudaStream_t get() const { return stream_; }
  int device() const { return device_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

/// The stream that a kernel launches on. The stream must be a CudaStream, as every stream of a CUDA device is.
inline cudaStream_t native(Stream& stream) { return static_cast<CudaStream&>(stream).get(); }

}  // namespace mirrortrain::cuda
