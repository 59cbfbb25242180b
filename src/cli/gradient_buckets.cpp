#include "cli/gradient_buckets.h"

#include "device/cpu/cpu_device.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain::cli {

std::vector<std::size_t> bucket_counts(const CheckedConfiguration& checked) {
  StoreOptions store;
  store.policies = checked.policies();
  const auto device = make_cpu_device(0, 1, {});
  const VariableStore variables(*checked.model, store, *device);
  std::vector<std::size_t> counts;
  for (const GradientBucket& bucket : make_buckets(variables, bucket_bytes(checked.values().strategy.communication))) {
    counts.push_back(static_cast<std::size_t>(bucket.elements));
  }
  return counts;
}

}  // namespace mirrortrain::cli
