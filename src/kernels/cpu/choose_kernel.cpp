#include "kernels/cpu/choose_kernel.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "kernels/cpu/parallel.h"

namespace mirrortrain::cpu {
namespace {

/// With zero rows: sets a weight gradient to zero, and does nothing for other ops.
class ZeroKernel : public Kernel {
 public:
  void enqueue(Stream& stream, const KernelArgs& args) override {
    for (const TensorView& output : args.outputs) {
      if (output.data && output.elements() > 0) stream.zero(output.data, output.bytes());
    }
  }
};

template <class To, class From>
void convert(const From* from, To* to, std::int64_t count, int threads) {
  parallel_for(threads, count, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
  });
}

/// Inputs or outputs as the inner kernel sees them: bfloat16 ones are float32 in the workspace.
class Operands {
 public:
  Operands(std::vector<TensorView>& views, WorkspaceLayout& workspace) {
    for (TensorView& view : views) {
      const bool converted = view.dtype == DType::kBfloat16;
      if (converted) view.dtype = DType::kFloat32;
      offsets_.push_back(converted ? std::optional(workspace.add(view.bytes())) : std::nullopt);
    }
    views_ = views;
  }

  std::span<const TensorView> views() const { return views_; }

  void bind(std::span<const TensorView> outside, std::byte* workspace) {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      views_[i].data = offsets_[i] ? workspace + *offsets_[i] : outside[i].data;
    }
  }
  void load(std::span<const TensorView> outside, int threads) const {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (offsets_[i]) convert(outside[i].as<bfloat16>(), views_[i].as<float>(), views_[i].elements(), threads);
    }
  }
  void store(std::span<const TensorView> outside, int threads) const {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (!offsets_[i] || !outside[i].data) continue;
      convert(views_[i].as<float>(), outside[i].as<bfloat16>(), views_[i].elements(), threads);
    }
  }

 private:
  std::vector<TensorView> views_;
  std::vector<std::optional<std::size_t>> offsets_;
};

class Float32Detour : public Kernel {
 public:
  Float32Detour(KernelSpecs specs, const KernelMaker& make)
      : threads_(specs.threads), inputs_(specs.inputs, workspace_), outputs_(specs.outputs, workspace_) {
    inner_ = make(specs);
    if (!inner_) throw Error("there is no float32 kernel to convert bfloat16 operands for");
    inner_workspace_ = workspace_.add(inner_->workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override { return inner_->derived_form(input); }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    inputs_.bind(args.inputs, args.workspace);
    outputs_.bind(args.outputs, args.workspace);
    inputs_.load(args.inputs, threads_);
    inner_->enqueue(stream, {inputs_.views(), outputs_.views(), args.workspace + inner_workspace_, args.step});
    outputs_.store(args.outputs, threads_);
  }

 private:
  int threads_;
  WorkspaceLayout workspace_;
  Operands inputs_, outputs_;
  std::unique_ptr<Kernel> inner_;
  std::size_t inner_workspace_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const Op& op, const KernelSpecs& specs, const KernelMaker& make) {
  const TensorView& first = specs.inputs[0];
  if (first.elements() == 0) return std::make_unique<ZeroKernel>();
  if (auto kernel = make(specs)) return kernel;
  if (first.dtype == DType::kBfloat16) return float32_detour(specs, make);
  throw Error(
      fmt::format("there is no CPU kernel of {} for {} {}", op.name(), name_of(first.dtype), first.shape.text()));
}

std::unique_ptr<Kernel> float32_detour(const KernelSpecs& specs, const KernelMaker& make) {
  return std::make_unique<Float32Detour>(specs, make);
}

}  // namespace mirrortrain::cpu
