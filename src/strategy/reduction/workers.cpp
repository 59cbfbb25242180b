#include "strategy/reduction/workers.h"

#include <algorithm>

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

std::vector<double> Workers::sum(std::span<const double> values) const {
  std::vector<double> sums(values.size());
  const std::vector<double> all = gather(values);
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
  return sums;
}

void Workers::take_from_chief(std::span<std::byte> bytes, std::string_view what) const {
  if (communicator_ != nullptr) mirrortrain::take_from_chief(*communicator_, bytes, what);
}

std::int64_t Workers::agree(std::int64_t value) const {
  take_from_chief(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace mirrortrain
