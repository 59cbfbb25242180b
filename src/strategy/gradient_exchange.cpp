#include "strategy/gradient_exchange.h"

#include <algorithm>

#include "strategy/gradient_scales.h"

namespace mirrortrain {

GradientExchange::GradientExchange(const VariableStore& variables, LocalReduction reduction,
                                   std::uint64_t bytes_per_pack)
    : reduction_(std::move(reduction)), replicas_(variables.replicas()) {
  for (Pack& pack : make_packs(variables, bytes_per_pack)) {
    const VariableGroup& group = variables.groups()[static_cast<std::size_t>(pack.group)];
    Member& member = packs_.emplace_back();
    member.aggregation = group.aggregation();
    for (int r = 0; r < replicas_; ++r) {
      member.data.push_back(reinterpret_cast<std::byte*>(group.gradient(r) + pack.begin));
    }
    member.pack = std::move(pack);
  }
}

void GradientExchange::order(const std::function<std::size_t(std::size_t variable)>& complete_after) {
  for (Member& member : packs_) {
    for (const std::size_t variable : member.pack.variables) {
      member.full_after = std::max(member.full_after, complete_after(variable));
    }
  }
  std::stable_sort(packs_.begin(), packs_.end(),
                   [](const Member& a, const Member& b) { return a.full_after < b.full_after; });
}

void GradientExchange::prepare(std::size_t index, int replica, std::int64_t examples) const {
  const Member& member = packs_[index];
  const float scale = gradient_scale(member.aggregation, replica, examples, replicas_);
  if (scale == 1) return;
  auto* const elements = reinterpret_cast<float*>(member.data[static_cast<std::size_t>(replica)]);
  const std::int64_t count = member.pack.elements();
  if (scale == 0) {
    std::fill_n(elements, count, 0.0f);  // not a product: what lies there may be another step's, or not a number
  } else {
    for (std::int64_t i = 0; i < count; ++i) elements[i] *= scale;
  }
}

void GradientExchange::run(std::size_t index, int stage, int replica) const {
  const Member& member = packs_[index];
  reduction_.run(stage, replica, DType::kFloat32, static_cast<std::size_t>(member.pack.elements()), member.data);
}

}  // namespace mirrortrain
