#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/gpus.h"

namespace mirrortrain {
namespace {

using cuda::check;
using cuda::CurrentDevice;

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {}

  DeviceId id() const override { return {DeviceId::Kind::kCuda, index_}; }
  int threads() const override { return 1; }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    const CurrentDevice current(index_);
    void* data = nullptr;
    require_memory(cudaMalloc(&data, bytes), "cudaMalloc", bytes);
    Buffer buffer(static_cast<std::byte*>(data), bytes, [](std::byte* memory) { cudaFree(memory); });
    // Not on the default stream, with which the device's streams do not synchronize.
    check(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread), "cudaMemsetAsync");
    check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
    return buffer;
  }

  DeviceMemory memory() const override {
    const CurrentDevice current(index_);
    DeviceMemory memory;
    check(cudaMemGetInfo(&memory.free, &memory.all), "cudaMemGetInfo");
    return memory;
  }

  Buffer allocate_host(std::size_t bytes) override {
    if (bytes == 0) return {};
    const CurrentDevice current(index_);
    void* data = nullptr;
    check(cudaHostAlloc(&data, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    Buffer buffer(static_cast<std::byte*>(data), bytes, [](std::byte* memory) { cudaFreeHost(memory); });
    std::fill_n(buffer.data(), bytes, std::byte{0});
    return buffer;
  }

  std::unique_ptr<Stream> make_stream() override {
    const CurrentDevice current(index_);
    return std::make_unique<cuda::CudaStream>(index_);
  }

  std::unique_ptr<Stream> make_urgent_stream() override {
    const CurrentDevice current(index_);
    return std::make_unique<cuda::CudaStream>(index_, true);
  }

  std::unique_ptr<Event> make_event() override {
    const CurrentDevice current(index_);
    return std::make_unique<cuda::CudaEvent>();
  }

  void enter_thread() override { cuda::enter_device(index_); }

 private:
  void require_memory(cudaError_t error, const char* call, std::size_t bytes) const {
    if (error != cudaErrorMemoryAllocation) return check(error, call);
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = total = 0;
    throw Error(
        fmt::format("no memory for {} bytes on cuda:{}, which has {} of {} bytes free; use a smaller batch or model",
                    bytes, index_, free, total));
  }

  int index_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int index) {
  const cuda::Gpus found = cuda::visible_gpus();
  if (found.gpus.empty()) throw UsageError(fmt::format("cuda:{} does not exist: {}", index, found.why_none));
  if (index < 0 || static_cast<std::size_t>(index) >= found.gpus.size()) {
    throw UsageError(
        fmt::format("cuda:{} does not exist: the visible GPUs are cuda:0 to cuda:{}", index, found.gpus.size() - 1));
  }
  return std::make_unique<CudaDevice>(index);
}

}  // namespace mirrortrain
