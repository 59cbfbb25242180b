#pragma once

#include <string>

#include "onnx/onnx_model.h"

namespace mirrortrain::onnx {

/// Why this program cannot write ONNX files; empty if it can.
std::string why_absent();

/// The bytes of a model's file, always the same for the same model: no time, machine or path. The model, which may be
/// large, is used up. Throws Error for a model
/// that is larger than such a file can be (2 GiB), and where the program was built without protobuf.
std::string file_bytes(Model&& model);

}  // namespace mirrortrain::onnx
