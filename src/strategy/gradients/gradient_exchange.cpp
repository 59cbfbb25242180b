#include "strategy/gradients/gradient_exchange.h"

#include <algorithm>

#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {

GradientExchange::GradientExchange(const VariableStore& variables, LocalReduction reduction,
                                   std::uint64_t bytes_per_pack)
    : reduction_(std::move(reduction)), replicas_(variables.replicas()), packs_(variables, bytes_per_pack) {}

void GradientExchange::prepare(std::size_t index, int replica, std::int64_t examples) const {
  const float scale = gradient_scale(packs_.aggregation(index), replica, examples, replicas_);
  if (scale == 1) return;
  float* const elements = packs_.gradient(index, replica);
  const std::int64_t count = packs_[index].elements();
  if (scale == 0) {
    std::fill_n(elements, count, 0.0f);  // not a product: what lies there may be another step's, or not a number
  } else {
    for (std::int64_t i = 0; i < count; ++i) elements[i] *= scale;
  }
}

void GradientExchange::run(std::size_t index, int stage, int replica) const {
  reduction_.run(stage, replica, DType::kFloat32, static_cast<std::size_t>(packs_[index].elements()),
                 packs_.data(index));
}

}  // namespace mirrortrain
