#include "base/dtype.h"

#include "base/error.h"

namespace mirrortrain {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kUint8: return 1;
    case DType::kBfloat16: return 2;
    case DType::kInt32:
    case DType::kFloat32: return 4;
    case DType::kInt64:
    case DType::kFloat64: return 8;
  }
  throw Error("unknown dtype");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kUint8: return "uint8";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kBfloat16: return "bfloat16";
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
  }
  throw Error("unknown dtype");
}

}  // namespace mirrortrain
