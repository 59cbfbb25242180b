// In place of onnx_file.cpp in a build without protobuf.
#include "base/error.h"
#include "onnx/onnx_file.h"

namespace mirrortrain::onnx {

std::string why_absent() { return MIRRORTRAIN_ONNX_ABSENT; }

std::string file_bytes(const Model&) { throw Error("this program cannot write ONNX files: " + why_absent()); }

}  // namespace mirrortrain::onnx
