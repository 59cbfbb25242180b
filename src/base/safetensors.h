#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/dtype.h"
#include "base/files.h"
#include "base/shape.h"

namespace mirrortrain {

/// A tensor of a file.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
};

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
using TensorSpecs = std::map<std::string, TensorSpec, std::less<>>;

/// Writes a safetensors file atomically, each tensor when its bytes are there: wide element types first, then by name,
/// so that every tensor is aligned to its elements. The same tensors give the same bytes, whatever order they come in.
/// Functions throw Error where the file cannot be written.
class SafetensorsWriter {
 public:
  /// Throws Error if a name is listed twice.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors,
                    Naming naming = Naming::kDurable);

  /// Throws Error unless it is one of the tensors, for the first time, and the bytes fit its shape.
  void write(const std::string& name, std::span<const std::byte> bytes);
  /// The same with the next bytes of a tensor, from its first ones on. Throws Error for more than it has.
  void append(const std::string& name, std::span<const std::byte> bytes);
  /// Names the file once all are written. Returns its CRC-32. Throws Error if one is missing.
  std::uint32_t commit();

 private:
  struct Place {
    std::uint64_t offset = 0, bytes = 0;  ///< in the file
    std::string shape;
    std::uint64_t written = 0;
    bool is_begun = false;
    std::uint32_t crc32 = 0;  ///< of one that was written out of order

    bool is_written() const { return is_begun && written == bytes; }
  };
  Place& place_of(const std::string& name);
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  std::map<std::string, Place> places_;
  std::uint64_t next_ = 0;  ///< where the file's end is, as far as it was written in order
  AtomicFile file_;
};

/// The same with tensors that are all in memory. Returns the file's CRC-32.
std::uint32_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                                Naming naming = Naming::kDurable);

/// A safetensors file whose tensors are read when they are asked for. Throws as read_safetensors.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// By name; in float32 what the file has in F16.
  const TensorSpecs& tensors() const { return tensors_; }
  StoredTensor read(const std::string& name) const;
  /// All of them, and if asked the file's CRC-32.
  StoredTensors read_all(std::uint32_t* crc32 = nullptr) const;
  /// Of the whole file, which this reads.
  std::uint32_t crc32() const;

 private:
  /// A tensor's bytes in the file.
  struct Place {
    std::string name;
    std::uint64_t offset = 0, bytes = 0;
    bool is_half = false;
  };
  std::vector<std::byte> bytes_of(const Place& place) const;
  void read_at(std::uint64_t offset, std::span<std::byte> to) const;
  StoredTensor tensor_of(const Place& place, std::vector<std::byte> bytes) const;

  std::filesystem::path path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> header_;  ///< with its length
  TensorSpecs tensors_;
  std::vector<Place> places_;  ///< in the order of the file, of which they fill the rest
};

/// Reads a safetensors file, and if asked its CRC-32. Tensors of F16 become float32, those of BOOL uint8. Throws Error
/// naming the file, and the tensor where one is at fault, unless the file is well formed and its tensors are of these
/// types or of F32, F64, I32, I64, BF16 or U8; SystemError where it cannot be read.
StoredTensors read_safetensors(const std::filesystem::path& path, std::uint32_t* crc32 = nullptr);

}  // namespace mirrortrain
