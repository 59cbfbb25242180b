#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "model/model.h"
#include "strategy/strategy.h"

namespace mirrortrain {

// All of these are called by every worker; what is read, the chief reads for all.

/// Reads every variable of the model by name. Throws Error, naming the file and every tensor that is missing, unused,
/// or of another shape or type.
void load_weights(const std::filesystem::path& file, Strategy& strategy, const std::string& remedy = "");
/// The same with tensors that the chief read from a file of this name.
void load_weights(const StoredTensors& stored, const std::string& file, Strategy& strategy,
                  const std::string& remedy = "");

/// Throws Error as load_weights does, on the chief alone.
void require_fit(const TensorSpecs& stored, const std::string& file, Strategy& strategy, const std::string& remedy);
void require_fit(const StoredTensors& stored, const std::string& file, Strategy& strategy, const std::string& remedy);
/// Throws Error with the first mismatches of a file, if there are any; `remedy` is appended to "do not fit the model".
void throw_mismatches(const std::string& file, std::vector<std::string> mismatches, const std::string& remedy = "");

/// Copies of all variables by name, as read outside the replicas, or replica 0's copy if that has no meaning. Called by
/// every worker; `keeps`: whether this one wants them.
StoredTensors copy_weights(Strategy& strategy, bool keeps = true);

/// The same, written piece by piece to a file of the chief, without copies. Returns its CRC-32; 0 on other workers.
std::uint32_t save_weights(const std::filesystem::path& file, Strategy& strategy);

/// Writes them to a file on this machine. Returns its CRC-32.
std::uint32_t save_weights(const std::filesystem::path& file, const StoredTensors& weights);

}  // namespace mirrortrain
