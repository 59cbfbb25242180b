#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/files.h"
#include "base/shape.h"

namespace mirrortrain {

/// A tensor to write; the caller owns the bytes.
struct NamedTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::span<const std::byte> data;
};

/// A tensor read from a file, aligned for its element type.
struct StoredTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> data;

  /// The elements as T, which must be the type that `dtype` names.
  template <class T>
  std::span<const T> span() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

/// Writes a safetensors file atomically: wide element types first, then by name, so that every tensor is aligned to its
/// elements. The same tensors give the same bytes. Returns the file's CRC-32. Throws Error where the file cannot be
/// written, a name is listed twice, or a tensor's bytes do not fit its shape.
std::uint32_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                                Naming naming = Naming::kDurable);

/// Reads a safetensors file, and if asked its CRC-32. Tensors of F16 become float32, those of BOOL uint8. Throws Error
/// naming the file, and the tensor where one is at fault, unless the file is well formed and its tensors are of these
/// types or of F32, F64, I32, I64, BF16 or U8; SystemError where it cannot be read.
StoredTensors read_safetensors(const std::filesystem::path& path, std::uint32_t* crc32 = nullptr);

}  // namespace mirrortrain
