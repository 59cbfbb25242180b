// GPUs simulated on the host: streams are threads that work late and pause at random, custom CUDA kernels run over
// fibers, and the libraries' kernels are the CPU's, each enqueued on its stream.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>

#include "collective/peer/peer_group.h"
#include "collective/thread_group.h"
#include "device/cpu/cpu_device.h"
#include "gpus_under_test.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "kernels/cpu/registry.h"
#include "kernels/cuda/batch_norm_of_sums.h"
#include "kernels/cuda/conv_then_norm.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/merge_gelu.h"
#include "kernels/cuda/merge_logits.h"
#include "kernels/cuda/merge_statistics.h"
#include "kernels/cuda/step_kernels.h"
#include "kernels/cuda/weight_forms.h"
#include "simulated_gpu/host_stream.h"
#include "simulated_gpu/threaded_device.h"
#include "strategy/reduction/memory_groups.h"

namespace mirrortrain::testing {
namespace {

std::atomic<std::int64_t> library_kernels = 0, convolutions_with_sums = 0;

/// A CPU's kernel, late.
class Enqueued : public Kernel {
 public:
  explicit Enqueued(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    auto form = kernel_->derived_form(input);
    if (!form) return form;
    form->refresh = [refresh = form->refresh](Stream& stream, const TensorView& canonical, std::byte* copy) {
      run_on(stream, [=] {
        InlineStream now;
        refresh(now, canonical, copy);
      });
    };
    return form;
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    ++library_kernels;
    run_on(stream, [this, args] {  // what the spans show stays where it is
      InlineStream now;
      kernel_->enqueue(now, args);
    });
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

/// to[column][row] = from[row][column]
void transpose(std::int64_t rows, std::int64_t columns, const float* from, float* to) {
  for (std::int64_t i = 0; i < rows * columns; ++i) to[i % columns * rows + i / columns] = from[i];
}

/// The CPU's form of a filter, also made from one that is kept output channels first (OHWI).
class SimulatedConvolution : public Enqueued {
 public:
  SimulatedConvolution(std::unique_ptr<Kernel> kernel, const TensorView& filter)
      : Enqueued(std::move(kernel)), filter_(filter) {}

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    auto form = Enqueued::derived_form(input);
    if (input != 1) return form;
    if (!form) {
      form = DerivedForm{.key = "as it is", .bytes = filter_.bytes()};
      form->refresh = [](Stream& stream, const TensorView& canonical, std::byte* copy) {
        stream.copy(copy, canonical.data, canonical.bytes());
      };
    }
    DerivedForm of_ohwi{.key = form->key + " of OHWI", .bytes = form->bytes};
    of_ohwi.refresh = [form = *form](Stream& stream, const TensorView& ohwi, std::byte* copy) {
      run_on(stream, [=] {
        const Shape& shape = ohwi.shape;
        std::vector<float> elements(static_cast<std::size_t>(shape.elements()));
        transpose(shape.back(), shape.elements() / shape.back(), ohwi.as<const float>(), elements.data());
        InlineStream now;
        TensorView canonical = ohwi;
        canonical.data = reinterpret_cast<std::byte*>(elements.data());
        form.refresh(now, canonical, copy);
      });
    };
    form->of_out_first = std::make_shared<const DerivedForm>(of_ohwi);
    return form;
  }

 private:
  TensorView filter_;
};

/// A filter's gradient from the CPU, put in OHWI.
class SimulatedFilterGradient : public Enqueued {
 public:
  using Enqueued::Enqueued;

  void enqueue(Stream& stream, const KernelArgs& args) override {
    Enqueued::enqueue(stream, args);
    if (args.outputs[0].data == nullptr) return;
    run_on(stream, [gradient = args.outputs[0]] {
      const Shape& shape = gradient.shape;
      const std::vector<float> canonical(gradient.as<float>(), gradient.as<float>() + shape.elements());
      transpose(shape.elements() / shape.back(), shape.back(), canonical.data(), gradient.as<float>());
    });
  }
};

template <class OpType>
void add_convolution(KernelRegistry& to) {
  to.add<OpType>([](const OpType& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    if (auto own = cuda::make_if_depthwise(op, specs)) return own;
    return std::make_unique<SimulatedConvolution>(cpu::kernel_registry().make(op, specs), specs.inputs[1]);
  });
}

void add_convolutions(KernelRegistry& to) {
  add_convolution<ops::Conv2d>(to);
  add_convolution<ops::Conv2dInputGradient>(to);
  to.add<cuda::Conv2dOhwiWeightGradient>(
      [](const cuda::Conv2dOhwiWeightGradient& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
        if (auto own = cuda::make_if_depthwise(op, specs)) return own;
        const ops::Conv2dWeightGradient canonical(op, op.kernel_shape, op.with_bias);
        return std::make_unique<SimulatedFilterGradient>(cpu::kernel_registry().make(canonical, specs));
      });
}

/// A convolution on the CPU with the sums of its channels and of their squares, which it adds in float and in tiles as
/// cuDNN does, and then the normalization that starts from them.
class SimulatedConvolutionWithNorm : public Kernel {
 public:
  SimulatedConvolutionWithNorm(const cuda::Conv2dBatchNorm& op, const KernelSpecs& specs)
      : conv_(cpu::kernel_registry().make(ops::Conv2d(op, op.activation), cuda::specs_of_convolution(specs)),
              specs.inputs[1]),
        norm_(op.norm, specs.outputs.back()),
        args_(op, specs),
        channels_(specs.outputs.back().shape.back()) {}

  std::size_t workspace_bytes() const override {
    return args_.bytes() + sums_bytes() + std::max(conv_.workspace_bytes(), norm_.workspace_bytes());
  }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input < cuda::Conv2dBatchNorm::kOfConvolution ? conv_.derived_form(input) : std::nullopt;
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    auto [conv, norm] = args_.bind(args);
    auto* const sums = reinterpret_cast<float*>(norm.workspace);
    conv.workspace = norm.workspace = norm.workspace + sums_bytes();
    conv_.enqueue(stream, conv);
    ++convolutions_with_sums;
    run_on(stream, [y = conv.outputs[0], sums, channels = channels_] { add(y, channels, sums); });
    norm_.enqueue(stream, norm, sums, sums + channels_);
  }

 private:
  static void add(const TensorView& y, std::int64_t channels, float* sums) {
    constexpr std::int64_t kTile = 64;
    std::fill(sums, sums + 2 * channels, 0.0f);
    const auto* const elements = y.as<const bfloat16>();
    const std::int64_t cells = y.elements() / channels;
    for (std::int64_t first = 0; first < cells; first += kTile) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0, square = 0;
        for (std::int64_t cell = first; cell < std::min(cells, first + kTile); ++cell) {
          const auto value = static_cast<float>(elements[cell * channels + c]);
          sum += value;
          square += value * value;
        }
        sums[c] += sum;
        sums[channels + c] += square;
      }
    }
  }

  std::size_t sums_bytes() const { return cuda::padded(2 * static_cast<std::size_t>(channels_) * sizeof(float)); }

  SimulatedConvolution conv_;
  cuda::BatchNormOfSums norm_;
  cuda::ConvThenNormArgs args_;
  std::int64_t channels_;
};

/// A dense layer's matrix multiplication on the CPU, and what follows it there.
class FollowedProduct : public Kernel {
 public:
  using Follow = std::function<void(Stream&, const KernelArgs&)>;

  /// `to`: the output that the multiplication writes.
  FollowedProduct(const Op& product, KernelSpecs specs, std::size_t inputs, std::size_t to, Follow follow)
      : inputs_(inputs), to_(to), follow_(std::move(follow)) {
    specs.inputs.resize(inputs);
    specs.input_present.resize(inputs);
    specs.outputs = {specs.outputs[to]};
    product_ = cpu::kernel_registry().make(product, specs);
  }

  std::size_t workspace_bytes() const override { return product_->workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input < inputs_ ? product_->derived_form(input) : std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    KernelArgs of_product = args;
    of_product.inputs = args.inputs.first(inputs_);
    of_product.outputs = args.outputs.subspan(to_, 1);
    product_->enqueue(stream, of_product);
    follow_(stream, args);
  }

 private:
  std::size_t inputs_, to_;
  Follow follow_;
  std::unique_ptr<Kernel> product_;
};

void add_gelu(KernelRegistry& to) {
  static constexpr auto kKind = ops::ActivationKind::kGeluTanh;
  to.add<cuda::DenseWithGelu>([](const cuda::DenseWithGelu& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    const std::size_t before = op.keeps_input ? 1 : 0;
    const auto pass = std::make_shared<cuda::ActivationPass>(kKind, specs.outputs[0]);
    return std::make_unique<Enqueued>(std::make_unique<FollowedProduct>(
        ops::Dense(), specs, specs.inputs.size(), before, [pass, before](Stream& stream, const KernelArgs& args) {
          pass->enqueue(stream, args.outputs[before], args.outputs[0]);
        }));
  });
  to.add<cuda::DenseInputGradientOfGelu>([](const cuda::DenseInputGradientOfGelu&,
                                            const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    const auto pass = std::make_shared<cuda::ActivationGradientPass>(kKind, specs.outputs[0]);
    return std::make_unique<Enqueued>(std::make_unique<FollowedProduct>(
        ops::DenseInputGradient(), specs, 2, 0,
        [pass](Stream& stream, const KernelArgs& args) { pass->enqueue(stream, args.inputs[2], args.outputs[0]); }));
  });
}

/// A dense layer's op on the CPU, of a tensor whose padded rows are copied together before it, or apart behind it.
template <class DenseOp>
class OfCompactRows : public Kernel {
 public:
  OfCompactRows(const cuda::OfPaddedRows<DenseOp>& op, KernelSpecs specs) : op_(op) {
    TensorView& padded = op.padded >= 0 ? specs.inputs[static_cast<std::size_t>(op.padded)] : specs.outputs[0];
    const std::size_t element = size_of(padded.dtype);
    stride_ = static_cast<std::size_t>(padded.shape.back()) * element;
    row_ = static_cast<std::size_t>(op.columns) * element;
    rows_ = static_cast<std::size_t>(padded.elements() / padded.shape.back());
    padded.shape[padded.shape.rank() - 1] = op.columns;
    shape_ = padded.shape;
    compact_.resize(rows_ * row_);
    kernel_ = cpu::kernel_registry().make(DenseOp(op), specs);
  }

  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override { return kernel_->derived_form(input); }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    std::vector<TensorView> inputs(args.inputs.begin(), args.inputs.end()),
        outputs(args.outputs.begin(), args.outputs.end());
    const bool is_output = op_.padded < 0;
    TensorView& view = is_output ? outputs[0] : inputs[static_cast<std::size_t>(op_.padded)];
    std::byte* const padded = std::exchange(view, TensorView{view.dtype, shape_, compact_.data()}).data;
    for (std::size_t row = 0; row < rows_ && !is_output; ++row) {
      std::memcpy(compact_.data() + row * row_, padded + row * stride_, row_);
    }
    KernelArgs of_compact = args;
    of_compact.inputs = inputs;
    of_compact.outputs = outputs;
    kernel_->enqueue(stream, of_compact);
    for (std::size_t row = 0; row < rows_ && is_output; ++row) {
      std::memset(padded + row * stride_ + row_, 0xff, stride_ - row_);  // what is behind a row is no number
      std::memcpy(padded + row * stride_, compact_.data() + row * row_, row_);
    }
  }

 private:
  cuda::OfPaddedRows<DenseOp> op_;
  std::size_t stride_, row_, rows_;  ///< in bytes, but the last
  Shape shape_;
  std::vector<std::byte> compact_;
  std::unique_ptr<Kernel> kernel_;
};

template <class... DenseOps>
void add_of_padded_rows(KernelRegistry& to) {
  (to.add<cuda::OfPaddedRows<DenseOps>>(
       [](const cuda::OfPaddedRows<DenseOps>& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
         return std::make_unique<Enqueued>(std::make_unique<OfCompactRows<DenseOps>>(op, specs));
       }),
   ...);
}

template <class... Ops>
void add_enqueued(KernelRegistry& to) {
  (to.add<Ops>([](const Ops& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    return std::make_unique<Enqueued>(cpu::kernel_registry().make(op, specs));
  }),
   ...);
}

class SimulatedBackend : public Backend {
 public:
  /// `with_sums`: convolutions leave the sums of batch normalizations, as if that had been measured to be faster.
  explicit SimulatedBackend(std::uint64_t seed, std::size_t memory_bytes = 0, bool with_sums = false)
      : seed_(seed), memory_bytes_(memory_bytes), with_sums_(with_sums) {}

  std::unique_ptr<Device> make_device(int index, int, const std::vector<int>&) const override {
    return make_threaded_device({DeviceId::Kind::kCuda, index}, seed_ + static_cast<std::uint64_t>(index),
                                std::chrono::microseconds(50), memory_bytes_);
  }

  std::shared_ptr<const KernelRegistry> make_registry(const Device&) const override {
    auto registry = std::make_shared<KernelRegistry>("simulated GPU");
    cuda::add_custom_kernels(*registry);
    add_convolutions(*registry);
    registry->add<cuda::Conv2dBatchNorm>(
        [](const cuda::Conv2dBatchNorm& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
          return std::make_unique<SimulatedConvolutionWithNorm>(op, specs);
        });
    add_gelu(*registry);
    add_of_padded_rows<ops::Dense, ops::DenseInputGradient, ops::DenseWeightGradient>(*registry);
    add_enqueued<ops::Dense, ops::DenseInputGradient, ops::DenseWeightGradient>(*registry);
    return registry;
  }

  Graph merged(const Graph& graph, const std::vector<ValueId>& outputs) const override {
    const Graph merged = cuda::merge(graph, outputs);
    return with_sums_ ? cuda::merge_statistics(merged, outputs) : merged;
  }

  VariableLayouts layouts(std::span<const GraphVariables> graphs) const override { return filters_out_first(graphs); }
  const StepKernels& step_kernels() const override { return cuda::step_kernels(); }
  const RowKernels* row_kernels() const override { return &cuda::row_kernels(); }
  const CopyKernels* copy_kernels() const override { return &cuda::copy_kernels(); }

 private:
  std::uint64_t seed_;
  std::size_t memory_bytes_;
  bool with_sums_;
};

template <class Group>
Communicators ranks_of(std::shared_ptr<Group> group) {
  return {group, group->ranks()};
}

/// What stands for NCCL meets on the streams' threads, as NCCL's kernels do.
RunCommunicators communicators(const Topology& topology, const StrategyOptions& options, const ReductionChoice& choice,
                               const Backend& backend, std::span<Device* const> devices) {
  const double timeout = options.communication.timeout_seconds;
  const auto along = [&](ops::Axis axis, const std::optional<StagedReduction>& stages) {
    return communicators_along(axis, topology, [&](const MemoryGroup& of) {
      if (!stages) return ranks_of(std::make_shared<ThreadGroup>(static_cast<int>(of.memories.size()), timeout));
      std::vector<Device*> own;
      for (const std::size_t number : of.here) own.push_back(devices[number]);
      return ranks_of(
          std::make_shared<PeerGroup>(*stages, own, backend.step_kernels(), PeerGroupOptions{false, timeout}));
    });
  };
  return {along(ops::Axis::kData, choice.stages), along(ops::Axis::kModel, choice.stages_in_row)};
}

}  // namespace

bool has_gpus(int) { return true; }

Tolerance tolerance() { return {1e-5, 2e-5}; }

std::optional<Launches> launches() { return Launches{cuda::host_launches, library_kernels, convolutions_with_sums}; }

bool memory_can_be_chosen() { return true; }

Hardware gpu_with(std::size_t memory_bytes, int count) {
  Hardware hardware = gpus_under_test(count);
  hardware.backend = [memory_bytes](const Topology&, const TrainingOptions&) {
    return std::make_shared<const SimulatedBackend>(1, memory_bytes);
  };
  return hardware;
}

Hardware gpus_under_test(int count, std::uint64_t seed) {
  const auto gpus = [count] { return cuda::Gpus{std::vector<cuda::Gpu>(static_cast<std::size_t>(count)), ""}; };
  return {{{0, 1}, gpus},
          {},
          [seed](const Topology&, const TrainingOptions& training) {
            return std::make_shared<const SimulatedBackend>(seed, 0, training.autotune && !training.deterministic);
          },
          communicators,
          [] { return std::string(); }};
}

}  // namespace mirrortrain::testing
