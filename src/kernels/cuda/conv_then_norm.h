#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/cuda/merge_statistics.h"
#include "kernels/kernel.h"

// What the kernels of a Conv2dBatchNorm have in common, whichever library computes its convolution.
namespace mirrortrain::cuda {

/// The specs of the convolution in a Conv2dBatchNorm by itself, and of its normalization.
KernelSpecs specs_of_convolution(const KernelSpecs& specs);
KernelSpecs specs_of_norm(const KernelSpecs& specs);

/// The arguments of the convolution and of the normalization behind it, from those of the Conv2dBatchNorm. Decides
/// where the convolution's output goes if it is not wanted itself: where y goes, or with a residual, whose memory y may
/// have, to the beginning of the workspace.
class ConvThenNormArgs {
 public:
  ConvThenNormArgs(const Conv2dBatchNorm& op, const KernelSpecs& specs);

  /// What is reserved at the beginning of the workspace; 0 if the output always has another place.
  std::size_t bytes() const { return bytes_; }

  struct Both {
    KernelArgs convolution, norm;  ///< their workspace, which both may use, is behind bytes()
  };
  /// Valid until the next call, and as long as `args`. Throws Error if an output that is said to be read is null.
  Both bind(const KernelArgs& args);

 private:
  bool of_residual_;
  std::vector<TensorView> norm_inputs_;
  TensorView convolved_;
  std::size_t bytes_;
};

/// The two, one after the other as by themselves.
class ConvThenNorm : public Kernel {
 public:
  /// `convolution` and `norm`: kernels for these specs' parts.
  ConvThenNorm(const Conv2dBatchNorm& op, const KernelSpecs& specs, std::unique_ptr<Kernel> convolution,
               std::unique_ptr<Kernel> norm);

  std::size_t workspace_bytes() const override;
  std::optional<DerivedForm> derived_form(std::size_t input) const override;
  void enqueue(Stream& stream, const KernelArgs& args) override;

 private:
  std::unique_ptr<Kernel> convolution_, norm_;
  ConvThenNormArgs args_;
};

/// The custom kernel of the normalization in a Conv2dBatchNorm. `specs`: of the whole op.
std::unique_ptr<Kernel> make_norm(const Conv2dBatchNorm& op, const KernelSpecs& specs);

}  // namespace mirrortrain::cuda
