// Where a device can run a step but not capture it, training goes on without.
#include <doctest/doctest.h>

#include "base/error.h"
#include "network.h"
#include "simulated_gpu/host_stream.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// A stream that runs, but does not capture: it calls what is to be captured, as a GPU does whose library then refuses.
class RefusingStream : public HostStream {
 public:
  explicit RefusingStream(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void run(std::function<void()> work) override {
    if (!captures_) run_on(*stream_, std::move(work));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (!captures_) stream_->copy(to, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override {
    if (!captures_) stream_->zero(to, bytes);
  }
  void call(void (*function)(void*), void* argument) override { stream_->call(function, argument); }
  void record(Event& event) override { stream_->record(event); }
  void wait(const Event& event) override { stream_->wait(event); }
  void synchronize() override { stream_->synchronize(); }
  bool can_capture() const override { return true; }
  std::unique_ptr<Recording> capture(const std::function<void()>& enqueue) override {
    captures_ = true;
    enqueue();
    captures_ = false;
    throw Error("this device captures nothing");
  }

 private:
  std::unique_ptr<Stream> stream_;
  bool captures_ = false;
};

class RefusingDevice : public Device {
 public:
  explicit RefusingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  DeviceId id() const override { return device_->id(); }
  int threads() const override { return device_->threads(); }
  Buffer allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  DeviceMemory memory() const override { return device_->memory(); }
  Buffer allocate_host(std::size_t bytes) override { return device_->allocate_host(bytes); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<RefusingStream>(device_->make_stream()); }
  std::unique_ptr<Event> make_event() override { return device_->make_event(); }
  void enter_thread() override { device_->enter_thread(); }

 private:
  std::unique_ptr<Device> device_;
};

class RefusingBackend : public Backend {
 public:
  explicit RefusingBackend(std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {}

  std::unique_ptr<Device> make_device(int index, int threads, const std::vector<int>& cores) const override {
    return std::make_unique<RefusingDevice>(backend_->make_device(index, threads, cores));
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

 private:
  std::shared_ptr<const Backend> backend_;
};

Hardware without_capture(int gpus) {
  Hardware hardware = testing::gpus_under_test(gpus);
  hardware.backend = [whole = hardware.backend](const Topology& topology, const TrainingOptions& options) {
    return std::make_shared<const RefusingBackend>(whole(topology, options));
  };
  return hardware;
}

TEST_CASE("steps that a GPU cannot capture, alone or several at once, are enqueued kernel by kernel") {
  const auto trained = [](const std::string& strategy, const char* graph, const Hardware& hardware) {
    Training training(
        kNetwork,
        {fmt::format("training={{tf32: false, cuda_graph: {}}}", graph), "data.drop_remainder=true", strategy},
        hardware);
    const auto losses = training.steps_in_flight(40);
    return std::pair(losses, training.variables());
  };
  for (const auto& [gpus, strategy] :
       {std::pair(1, strategy_of("cuda", 2)),
        std::pair(2, std::string("strategy={type: mirrored, devices: [cuda:0, cuda:1]}"))}) {
    CAPTURE(gpus);
    CHECK(trained(strategy, "auto", without_capture(gpus)) ==
          trained(strategy, "never", testing::gpus_under_test(gpus)));
  }
}

}  // namespace
}  // namespace mirrortrain
