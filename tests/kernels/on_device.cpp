#include "kernels/on_device.h"

#include <map>

namespace mirrortrain::testing {
namespace {

/// Host memory and its twins on a device.
class Twins {
 public:
  Twins(Device& device, Stream& stream) : device_(device), stream_(stream) {}

  /// The twin of `bytes` from `host` on; null for null. The same place asked for again is the same twin.
  std::byte* of(std::byte* host, std::size_t bytes) {
    if (host == nullptr) return nullptr;
    const auto [place, is_new] = twins_.try_emplace(host);
    if (is_new) {
      place->second = device_.allocate(bytes);
      stream_.copy(place->second.data(), host, bytes);
    }
    return place->second.data();
  }

  void bring_back() {
    for (const auto& [host, twin] : twins_) stream_.copy(host, twin.data(), twin.bytes());
    stream_.synchronize();
  }

 private:
  Device& device_;
  Stream& stream_;
  std::map<std::byte*, Buffer> twins_;
};

class OnDevice : public Kernel {
 public:
  OnDevice(std::unique_ptr<Kernel> kernel, Device& device)
      : kernel_(std::move(kernel)), device_(device), stream_(device.make_stream()) {}

  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    auto form = kernel_->derived_form(input);
    if (!form) return form;
    form->refresh = [this, refresh = form->refresh, bytes = form->bytes](Stream&, const TensorView& canonical,
                                                                         std::byte* copy) {
      Twins twins(device_, *stream_);
      TensorView there = canonical;
      there.data = twins.of(canonical.data, canonical.bytes());
      refresh(*stream_, there, twins.of(copy, bytes));
      twins.bring_back();
    };
    return form;
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    Twins twins(device_, *stream_);
    std::vector<TensorView> inputs(args.inputs.begin(), args.inputs.end());
    std::vector<TensorView> outputs(args.outputs.begin(), args.outputs.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto form = kernel_->derived_form(i);
      inputs[i].data = twins.of(inputs[i].data, form ? form->bytes : inputs[i].bytes());
    }
    for (TensorView& output : outputs) output.data = twins.of(output.data, output.bytes());
    std::byte* const workspace = twins.of(args.workspace, workspace_bytes());
    StepParams step = args.step == nullptr ? StepParams() : *args.step;
    auto* const step_there = reinterpret_cast<StepParams*>(twins.of(reinterpret_cast<std::byte*>(&step), sizeof(step)));
    auto* const blocks_done = reinterpret_cast<std::byte*>(args.blocks_done);
    kernel_->enqueue(*stream_, {inputs, outputs, workspace, step_there,
                                reinterpret_cast<unsigned*>(twins.of(blocks_done, sizeof(unsigned)))});
    twins.bring_back();
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  Device& device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace

KernelRegistry on_device(const KernelRegistry& kernels, Device& device) {
  return kernels.wrapped(
      [&device](const KernelRegistry::Make& make, const Op& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
        device.enter_thread();  // which may have left for another one
        return std::make_unique<OnDevice>(make(op, specs), device);
      });
}

}  // namespace mirrortrain::testing
