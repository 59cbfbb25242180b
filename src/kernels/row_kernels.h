#pragma once

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
};

/// Which rows: row r of a batch is row first + chosen[r]. `chosen` is device memory.
struct RowChoice {
  const std::int64_t* chosen = nullptr;
  std::int64_t count = 0;
  std::int64_t first = 0;
};

/// (x - shift) * scale + offset, for the channel that an element has: its number in the row modulo `channels`. Vectors
/// of `channels` in device memory. The arithmetic is float32 for uint8, bfloat16 and float32 elements, double for the
/// others.
struct DeviceAffine {
  const double *shift = nullptr, *scale = nullptr, *offset = nullptr;
  std::int64_t channels = 1;
  bool identity = false;  ///< nothing but a conversion; the vectors are not read
};

/// A batch from a data set in device memory, as data/gather.h makes it on the host.
class RowKernels {
 public:
  virtual ~RowKernels() = default;

  /// Writes the chosen rows, converted, to `to`: float32 or bfloat16.
  virtual void gather_rows(Stream& stream, const DeviceRows& source, const RowChoice& rows, const DeviceAffine& affine,
                           DType dtype, std::byte* to) const = 0;

  /// Writes the chosen rows' labels to `to`: int32 or float32, or, where `one_hot_depth` is not 0, float32 vectors of
  /// zeros with a one at the class.
  virtual void gather_labels(Stream& stream, const DeviceRows& source, const RowChoice& rows, DType dtype,
                             std::int64_t one_hot_depth, std::byte* to) const = 0;
};

}  // namespace mirrortrain
