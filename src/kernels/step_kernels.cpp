#include "kernels/step_kernels.h"

#include "base/error.h"

namespace mirrortrain {

void StepKernels::update_with_product(const scalar::UpdateRule&, const Group&, const ProductWeight&,
                                      std::span<const ProductSource>, const StepParams&, int, std::int64_t,
                                      std::int64_t) const {
  throw Error("these kernels compute no update from a product");
}

void StepKernels::sum_lookups(Stream&, std::span<const Lookups>, const TableWeight&, float, std::span<std::uint64_t>,
                              std::span<float>, const SparseRows&) const {
  throw Error("these kernels make no sparse gradients");
}

void StepKernels::update_sparse(Stream&, const scalar::UpdateRule&, const Group&, const TableWeight&,
                                std::span<const SparseRows>, const StepParams&, int, std::int64_t, std::int64_t) const {
  throw Error("these kernels compute no update from a sparse gradient");
}

void StepKernels::merge_sparse(Stream&, const TableWeight&, std::span<const SparseRows>, const SparseRows&) const {
  throw Error("these kernels add no sparse gradients");
}

void StepKernels::store_sparse(Stream&, const TableWeight&, std::span<const SparseRows>, bool, float*, std::int64_t,
                               std::int64_t) const {
  throw Error("these kernels store no sparse gradients");
}

}  // namespace mirrortrain
