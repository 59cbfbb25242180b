#pragma once

#include <filesystem>

#include "base/safetensors.h"

namespace mirrortrain::onnx {

/// The initializers of an ONNX file by their names, with those that it keeps in files beside it. Half precision becomes
/// float32, truth values uint8; words and types that have no DType are left out. Throws Error, naming the file and the
/// tensor, unless the file is whole; SystemError where it cannot be read.
StoredTensors read_onnx_weights(const std::filesystem::path& path);

}  // namespace mirrortrain::onnx
