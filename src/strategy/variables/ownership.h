#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Deals items of these sizes to `shares`: the largest first, each to the share that has the least so far; of equal
/// ones to the first. Returns the share of each item.
std::vector<int> dealt_by_size(std::span<const std::int64_t> sizes, int shares);

/// By variable of the model, the memory that keeps the state of the whole variable and updates it, where memories
/// divide the state and the update reads whole variables; -1 for other variables. Dealt by the state's bytes, the same
/// in every memory. Empty if there are no such variables.
std::vector<int> owners_of_wholes(const Model& model, const StoreOptions& options);

/// Bytes of what is kept of a variable beside its weights and gradients: the update's slots and states, and accumulated
/// gradients.
std::int64_t state_bytes(const Model& model, std::size_t variable, const StoreOptions& options);

}  // namespace mirrortrain
