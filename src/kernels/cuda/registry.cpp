#include "kernels/cuda/registry.h"

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/own_kernels.h"

namespace mirrortrain::cuda {
namespace {

KernelRegistry all_kernels(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CublasLt> blas) {
  KernelRegistry all("cuda");
  add_own_kernels(all);
  add_conv2d_kernels(all, std::move(cudnn));
  add_dense_kernels(all, std::move(blas));
  return all;
}

}  // namespace

KernelRegistry make_kernel_registry(int gpu, const MathOptions& options) {
  return all_kernels(std::make_shared<Cudnn>(gpu, options), std::make_shared<CublasLt>(gpu, options));
}

KernelRegistry make_kernel_registry_for(std::string_view properties_json, const MathOptions& options) {
  return all_kernels(std::make_shared<Cudnn>(properties_json, options), nullptr);
}

}  // namespace mirrortrain::cuda
