#pragma once

#include <filesystem>
#include <string>

namespace mirrortrain::cli {

/// Writes a configuration for a model that Keras saved, and its weights as a safetensors file beside it. `output`: the
/// configuration's file, which stdout is where `is_stdout`; empty if it is none, and then the weights are in the
/// working directory, called after the model. Throws UsageError with all of the model that nothing here does, and Error
/// for a damaged file; then nothing is written.
void init_from_keras(const std::string& file, const std::filesystem::path& output, bool is_stdout);

}  // namespace mirrortrain::cli
