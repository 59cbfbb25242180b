// In place of onnx_file.cpp and onnx_weights.cpp in a build without protobuf.
#include "base/error.h"
#include "onnx/onnx_file.h"
#include "onnx/onnx_weights.h"

namespace mirrortrain::onnx {

std::string why_absent() { return MIRRORTRAIN_ONNX_ABSENT; }

std::string file_bytes(Model&&) { throw Error("this program cannot write ONNX files: " + why_absent()); }

StoredTensors read_onnx_weights(const std::filesystem::path& path) {
  throw Error(path.string() + ": this program cannot read ONNX files: " + why_absent());
}

}  // namespace mirrortrain::onnx
