#include "strategy/variables/ownership.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mirrortrain {
namespace {

bool has_owner(const Model& model, std::size_t variable, const StoreOptions& options) {
  const ModelVariable& one = model.variables[variable];
  const bool is_updated = one.spec.trainable && options.keeps_slots && !options.elsewhere.contains(variable);
  return is_updated && one.data_parts == 1 && one.update.reads_whole() &&
         options.policies[variable].aggregation != Aggregation::kNone;
}

}  // namespace

std::vector<int> dealt_by_size(std::span<const std::int64_t> sizes, int shares) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t item) { return sizes[item]; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(shares));
  std::vector<int> share_of(sizes.size());
  for (const std::size_t item : order) {
    const auto least = std::ranges::min_element(load);
    *least += sizes[item];
    share_of[item] = static_cast<int>(least - load.begin());
  }
  return share_of;
}

std::int64_t state_bytes(const Model& model, std::size_t variable, const StoreOptions& options) {
  const ModelVariable& one = model.variables[variable];
  if (!one.spec.trainable) return 0;
  std::int64_t elements = 0;
  const std::int64_t of_weights = (options.keeps_slots ? one.update.slots() : 0) + (options.keeps_gradients ? 1 : 0);
  elements += of_weights * model.local_shape(variable, 0).elements();
  if (options.keeps_slots) {
    for (const UpdateState& state : states_of(one.update, one.spec.shape)) elements += state.shape.elements();
  }
  return elements * static_cast<std::int64_t>(sizeof(float));
}

std::vector<int> owners_of_wholes(const Model& model, const StoreOptions& options) {
  if (!options.shard.is_part()) return {};
  std::vector<std::size_t> owned;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (!has_owner(model, i, options)) continue;
    owned.push_back(i);
    sizes.push_back(state_bytes(model, i, options));
  }
  if (owned.empty()) return {};
  std::vector<int> owners(model.variables.size(), -1);
  const std::vector<int> shares = dealt_by_size(sizes, options.shard.ranks);
  for (std::size_t i = 0; i < owned.size(); ++i) owners[owned[i]] = shares[i];
  return owners;
}

}  // namespace mirrortrain
