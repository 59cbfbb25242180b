#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cuda/stream_kernel.h"
#include "kernels/kernel.h"

// Library kernels: matrix multiplications and convolutions.
namespace mirrortrain::cuda {

class Cudnn;
class CublasLt;

void add_conv_kernels(KernelRegistry& registry, std::shared_ptr<Cudnn> cudnn);

/// Of convolutions with the batch normalizations behind them (merge_statistics.h).
void add_conv_batch_norm_kernels(KernelRegistry& registry, std::shared_ptr<Cudnn> cudnn);

/// If `blas` is null (a GPU that is only described), creating a kernel throws Error.
void add_dense_kernels(KernelRegistry& registry, std::shared_ptr<CublasLt> blas);

/// Kernels for wide recurrent layers, whose products are cuBLASLt's.
void add_recurrent_products(KernelRegistry& registry, std::shared_ptr<CublasLt> blas);

/// A maker of `Made(op, specs, library)`, or, with zero rows, of a kernel that only zeroes its outputs: the libraries
/// do not support empty tensors.
template <class OpType, class Made, class Library>
auto for_rows(std::shared_ptr<Library> library) {
  return [library](const OpType& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    if (std::any_of(specs.inputs[0].shape.begin(), specs.inputs[0].shape.end(),
                    [](auto extent) { return extent == 0; })) {
      return stream_kernel([](Stream& stream, const KernelArgs& args) {
        for (const TensorView& output : args.outputs) {
          if (output.data != nullptr) stream.zero(output.data, output.bytes());
        }
      });
    }
    return std::make_unique<Made>(op, specs, library);
  };
}

}  // namespace mirrortrain::cuda
