#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpus_under_test.h"
#include "simulated_gpu/host_stream.h"

namespace mirrortrain::testing {

/// A simulated GPU's stream, to derive others from.
class WrappedStream : public HostStream {
 public:
  explicit WrappedStream(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void run(std::function<void()> work) override { run_on(*stream_, std::move(work)); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { stream_->copy(to, from, bytes); }
  void zero(std::byte* to, std::size_t bytes) override { stream_->zero(to, bytes); }
  void call(void (*function)(void*), void* argument) override { stream_->call(function, argument); }
  void record(Event& event) override { stream_->record(event); }
  void wait(const Event& event) override { stream_->wait(event); }
  void synchronize() override { stream_->synchronize(); }
  bool can_capture() const override { return stream_->can_capture(); }
  std::unique_ptr<Recording> capture(const std::function<void()>& enqueue) override {
    return stream_->capture(enqueue);
  }

 private:
  std::unique_ptr<Stream> stream_;
};

/// A device whose streams are wrapped in this type.
template <class StreamType>
class WrappedDevice : public Device {
 public:
  explicit WrappedDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  DeviceId id() const override { return device_->id(); }
  int threads() const override { return device_->threads(); }
  Buffer allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  DeviceMemory memory() const override { return device_->memory(); }
  Buffer allocate_host(std::size_t bytes) override { return device_->allocate_host(bytes); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<StreamType>(device_->make_stream()); }
  std::unique_ptr<Event> make_event() override { return device_->make_event(); }
  void enter_thread() override { device_->enter_thread(); }

 private:
  std::unique_ptr<Device> device_;
};

template <class StreamType>
class WrappedBackend : public Backend {
 public:
  explicit WrappedBackend(std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {}

  std::unique_ptr<Device> make_device(int index, int threads, const std::vector<int>& cores) const override {
    return std::make_unique<WrappedDevice<StreamType>>(backend_->make_device(index, threads, cores));
  }
  std::shared_ptr<const KernelRegistry> make_registry(const Device& device) const override {
    return backend_->make_registry(device);
  }
  Graph merged(const Graph& graph, const std::vector<ValueId>& outputs) const override {
    return backend_->merged(graph, outputs);
  }
  VariableLayouts layouts(std::span<const GraphVariables> graphs) const override { return backend_->layouts(graphs); }
  const StepKernels& step_kernels() const override { return backend_->step_kernels(); }
  const RowKernels* row_kernels() const override { return backend_->row_kernels(); }
  const CopyKernels* copy_kernels() const override { return backend_->copy_kernels(); }

 private:
  std::shared_ptr<const Backend> backend_;
};

/// Simulated GPUs whose streams are of this type.
template <class StreamType>
Hardware gpus_with(int gpus) {
  Hardware hardware = gpus_under_test(gpus);
  hardware.backend = [whole = hardware.backend](const Topology& topology, const TrainingOptions& options) {
    return std::make_shared<const WrappedBackend<StreamType>>(whole(topology, options));
  };
  return hardware;
}

}  // namespace mirrortrain::testing
