#include "kernels/step_kernels.h"

#include "base/error.h"

namespace mirrortrain {

void StepKernels::update_with_product(const scalar::UpdateRule&, const Group&, const ProductWeight&,
                                      std::span<const ProductSource>, const StepParams&, int, std::int64_t,
                                      std::int64_t) const {
  throw Error("these kernels compute no update from a product");
}

}  // namespace mirrortrain
