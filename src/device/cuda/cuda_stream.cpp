#include "device/cuda/cuda_stream.h"

#include "device/cuda/cuda_check.h"

namespace mirrortrain::cuda {

CudaEvent::CudaEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::synchronize() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

CudaStream::CudaStream(int device, bool urgent) : device_(device) {
  int least = 0, greatest = 0;  // a smaller number is a higher priority
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least),
        "cudaStreamCreateWithPriority");
}

CudaStream::~CudaStream() {
  cudaStreamSynchronize(
      stream_);  // the memory that it uses may be freed next; a failure was reported elsewhere or does not matter
  cudaStreamDestroy(stream_);
}

void CudaStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  // With unified addressing the driver knows a pointer's device or host.
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync", device_);
}

void CudaStream::zero(std::byte* to, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(to, 0, bytes, stream_), "cudaMemsetAsync", device_);
}

void CudaStream::call(void (*function)(void*), void* argument) {
  check(cudaLaunchHostFunc(stream_, function, argument), "cudaLaunchHostFunc", device_);
}

void CudaStream::record(Event& event) {
  check(cudaEventRecord(static_cast<CudaEvent&>(event).get(), stream_), "cudaEventRecord", device_);
}

void CudaStream::wait(const Event& event) {
  check(cudaStreamWaitEvent(stream_, static_cast<const CudaEvent&>(event).get(), 0), "cudaStreamWaitEvent", device_);
}

void CudaStream::synchronize() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", device_); }

namespace {

class CudaRecording : public Recording {
 public:
  explicit CudaRecording(cudaGraph_t graph) {
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
  }
  ~CudaRecording() override { cudaGraphExecDestroy(executable_); }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;

  void enqueue(Stream& stream) override { check(cudaGraphLaunch(executable_, native(stream)), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

std::unique_ptr<Recording> CudaStream::capture(const std::function<void()>& enqueue) {
  // Other lanes keep allocating and copying meanwhile: only this thread's calls must be capturable.
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture", device_);
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    cudaGetLastError();  // the failure is already being reported
    throw;
  }
  check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture", device_);
  return std::make_unique<CudaRecording>(graph);
}

}  // namespace mirrortrain::cuda
