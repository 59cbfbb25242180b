#include "strategy/reduction/workers.h"

#include <algorithm>

#include "base/error.h"
#include "collective/host_values.h"

namespace mirrortrain {

void Workers::barrier() const {
  if (communicator_ != nullptr) mirrortrain::barrier(*communicator_);
}

std::vector<double> Workers::gather(std::span<const double> values) const {
  if (communicator_ == nullptr) return {values.begin(), values.end()};
  std::vector<double> all(values.size() * static_cast<std::size_t>(communicator_->size()));
  std::ranges::copy(values, all.begin() + communicator_->rank() * std::ssize(values));
  mirrortrain::gather(*communicator_, all, "values of the replicas");
  return all;
}

std::vector<double> Workers::reduce(Aggregation aggregation, std::span<const double> values) const {
  if (aggregation != Aggregation::kSum && aggregation != Aggregation::kMean) {
    throw Error("values of replicas are reduced to their sum or their mean");
  }
  const std::vector<double> all = gather(values);
  const auto replicas = static_cast<std::size_t>(replicas_);
  if (all.size() % replicas != 0) throw Error("every replica must have as many values");
  std::vector<double> result(all.size() / replicas);
  for (std::size_t i = 0; i < all.size(); ++i) result[i % result.size()] += all[i];
  if (aggregation == Aggregation::kMean) {
    for (double& value : result) value /= static_cast<double>(replicas);
  }
  return result;
}

void Workers::take_from_chief(std::span<std::byte> bytes, std::string_view what) const {
  if (communicator_ != nullptr) mirrortrain::take_from_chief(*communicator_, bytes, what);
}

std::int64_t Workers::agree(std::int64_t value) const {
  take_from_chief(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace mirrortrain
