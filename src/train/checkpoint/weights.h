#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "model/model.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Gives every variable its initializer's values.
void initialize_weights(const Model& model, const VariableStore& variables, std::uint64_t seed);

/// Fills the optimizer's slots with what each of them starts at.
void initialize_slots(const std::vector<float>& first, const VariableStore& variables);

/// Reads every variable of the model by name. Throws Error, naming the file and every tensor that is missing, left
/// over, or of another shape or type.
void load_weights(const std::filesystem::path& file, const VariableStore& variables, const std::string& remedy = "");
/// The same with what was read of a file of this name.
void load_weights(const StoredTensors& stored, const std::string& file, const VariableStore& variables,
                  const std::string& remedy = "");

/// Throws Error with the first of what does not fit in a file, if anything; `remedy` goes behind "do not fit the
/// model".
void throw_mismatches(const std::string& file, std::vector<std::string> mismatches, const std::string& remedy = "");

/// What reading every variable outside the replicas gives, or replica 0's copy where that has no meaning, by name.
StoredTensors copy_weights(const VariableStore& variables);

/// Writes what reading every variable outside the replicas gives, or replica 0's copy where that has no meaning.
/// Returns the file's CRC-32.
std::uint32_t save_weights(const std::filesystem::path& file, const VariableStore& variables);

}  // namespace mirrortrain
