#include "strategy/strategy.h"

#include "base/error.h"

namespace mirrortrain {

std::vector<double> Strategy::reduce(Aggregation aggregation, std::span<const double> values) {
  if (aggregation != Aggregation::kSum && aggregation != Aggregation::kMean) {
    throw Error("values of replicas are reduced to their sum or their mean");
  }
  const std::vector<double> all = gather(values);
  const auto replicas = static_cast<std::size_t>(num_replicas_in_sync());
  if (all.size() % replicas != 0) throw Error("every replica must have as many values");
  std::vector<double> result(all.size() / replicas);
  for (std::size_t i = 0; i < all.size(); ++i) result[i % result.size()] += all[i];
  if (aggregation == Aggregation::kMean) {
    for (double& value : result) value /= static_cast<double>(replicas);
  }
  return result;
}

}  // namespace mirrortrain
