#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "device/device.h"

namespace mirrortrain {

/// Rows of the same length in device memory, aligned to 16 bytes.
struct DeviceRows {
  const std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  std::int64_t elements = 0;  ///< of one row
  std::int64_t taken = 0;     ///< the number of leading elements used of each
};

/// Which rows: row r of a batch is row first + chosen[r]. `chosen` is device memory.
struct RowChoice {
  const std::int64_t* chosen = nullptr;
  std::int64_t count = 0;
  std::int64_t first = 0;
};

/// (x - shift) * scale + offset, with the constants of an element's index in the row modulo `period`. Vectors of
/// `period` in device memory. The arithmetic is float32 for uint8, bfloat16 and float32 elements unless `in_double`,
/// double for the others.
struct DeviceAffine {
  const double *shift = nullptr, *scale = nullptr, *offset = nullptr;
  std::int64_t period = 1;
  bool identity = false;   ///< only a conversion; the vectors are not read
  bool in_double = false;  ///< for every element type
};

/// A copy within device memory of a multiple of 8 bytes, aligned to 8.
struct SmallCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
};

/// A replica's batch, gathered from a data set in device memory as data/gather.h does on the host.
struct DeviceBatch {
  RowChoice rows;

  DeviceRows features;
  DeviceAffine affine;
  DType features_dtype = DType::kFloat32;  ///< or bfloat16
  std::byte* features_to = nullptr;

  DeviceRows labels;
  DType labels_dtype = DType::kFloat32;  ///< or int32
  std::int64_t one_hot_depth = 0;        ///< not 0: labels become float32 vectors of zeros with a one at the class
  std::byte* labels_to = nullptr;

  std::array<SmallCopy, 2> copies;  ///< made in the same launch; unrelated to the rest
};

class RowKernels {
 public:
  virtual ~RowKernels() = default;

  /// Writes the chosen rows, the features converted, in one launch.
  virtual void gather(Stream& stream, const DeviceBatch& batch) const = 0;
};

}  // namespace mirrortrain
