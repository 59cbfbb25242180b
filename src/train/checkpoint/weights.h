#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "model/model.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Sets every variable to its initializer's values.
void initialize_weights(const Model& model, const VariableStore& variables, std::uint64_t seed);

/// Fills the optimizer's slots with their initial values.
void initialize_slots(const std::vector<float>& first, const VariableStore& variables);

/// Reads every variable of the model by name. Throws Error, naming the file and every tensor that is missing, unused,
/// or of another shape or type.
void load_weights(const std::filesystem::path& file, const VariableStore& variables, const std::string& remedy = "");
/// The same with tensors read from a file of this name.
void load_weights(const StoredTensors& stored, const std::string& file, const VariableStore& variables,
                  const std::string& remedy = "");

/// Throws Error with the first mismatches of a file, if there are any; `remedy` is appended to "do not fit the model".
void throw_mismatches(const std::string& file, std::vector<std::string> mismatches, const std::string& remedy = "");

/// Copies of all variables by name, as read outside the replicas, or replica 0's copy if that has no meaning.
StoredTensors copy_weights(const VariableStore& variables);

/// Writes all variables as read outside the replicas, or replica 0's copy if that has no meaning. Returns the file's
/// CRC-32.
std::uint32_t save_weights(const std::filesystem::path& file, const VariableStore& variables);

}  // namespace mirrortrain
