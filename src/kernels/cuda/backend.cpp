#include "kernels/cuda/backend.h"

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/merge_statistics.h"
#include "kernels/cuda/step_kernels.h"

namespace mirrortrain::cuda {
namespace {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const MathOptions& options) : options_(options) {}

  std::unique_ptr<Device> make_device(int index, int, const std::vector<int>&) const override {
    return make_cuda_device(index);
  }
  std::shared_ptr<const KernelRegistry> make_registry(const Device& device) const override {
    return std::make_shared<const KernelRegistry>(make_kernel_registry(device.id().index, options_));
  }
  Graph merged(const Graph& graph, const std::vector<ValueId>& outputs) const override {
    const Graph one_by_one = merge(graph, outputs);
    return options_.autotune && !options_.deterministic ? merge_statistics(one_by_one, outputs) : one_by_one;
  }
  VariableLayouts layouts(std::span<const GraphVariables> graphs) const override { return filters_out_first(graphs); }
  const StepKernels& step_kernels() const override { return cuda::step_kernels(); }
  const RowKernels* row_kernels() const override { return &cuda::row_kernels(); }
  const CopyKernels* copy_kernels() const override { return &cuda::copy_kernels(); }

 private:
  MathOptions options_;
};

KernelRegistry all_kernels(const MathOptions& options, std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CublasLt> blas) {
  KernelRegistry all("cuda");
  add_custom_kernels(all);
  if (options.tf32) add_tf32_attention_kernels(all);
  add_conv_kernels(all, cudnn);
  add_conv_batch_norm_kernels(all, std::move(cudnn));
  if (blas) add_recurrent_products(all, blas);
  add_dense_kernels(all, std::move(blas));
  return all;
}

}  // namespace

std::unique_ptr<Backend> make_backend(const MathOptions& options) { return std::make_unique<CudaBackend>(options); }

KernelRegistry make_kernel_registry(int gpu, const MathOptions& options) {
  return all_kernels(options, std::make_shared<Cudnn>(gpu, options), std::make_shared<CublasLt>(gpu, options));
}

KernelRegistry make_kernel_registry_for(std::string_view properties_json, const MathOptions& options) {
  return all_kernels(options, std::make_shared<Cudnn>(properties_json, options), nullptr);
}

std::vector<LibraryState> find_libraries() {
  return {
      state_of_library("cuDNN", [] { return std::pair(cudnn_library().get_version(), cudnn_library().get_version); }),
      state_of_library("cuBLASLt",
                       [] { return std::pair(cublaslt_library().get_version(), cublaslt_library().get_version); })};
}

}  // namespace mirrortrain::cuda
