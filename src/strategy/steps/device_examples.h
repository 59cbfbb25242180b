#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "data/feeding/feeder.h"
#include "data/sources/data_options.h"
#include "device/device.h"
#include "kernels/row_kernels.h"

namespace mirrortrain {

/// A replica's inputs. Where they hold fewer elements of a row than the data set has, these are its first.
struct ExampleInputs {
  TensorView features, labels;
  float* weights = nullptr;  ///< null where none are read
};

/// Where a device with memory of its own gets its examples from: data sets lie in its memory, or the host picks a
/// step's rows and copies them over, some steps ahead. In both cases in the type of their file: the device converts
/// them.
class DeviceExamples {
 public:
  DeviceExamples(Device& device, const RowKernels& kernels, data::Cache cache);

  /// Makes a data set ready whose steps take up to `most_rows` rows here. Throws Error where it is to be in the
  /// device's memory and there is not enough.
  void add(const data::Feeder& examples, std::int64_t most_rows);

  // For each step: `begin`, `gather` for each replica, `end`. `examples` was added.

  /// Starts copying what the step's `rows` of the data set need in its epoch; work enqueued to `stream` from here on
  /// finds it. Puts into their place what `gather` is to find in device memory.
  void begin(Stream& stream, const data::Feeder& examples, std::span<std::int64_t> rows, std::int64_t epoch);
  /// Writes `count` examples, preprocessed, to a replica's inputs. `choice`: the device's copy of a part of what
  /// `begin` left.
  void gather(Stream& stream, const data::Feeder& examples, const std::int64_t* choice, std::int64_t count,
              const ExampleInputs& to);
  /// The next `gather` does these copies too.
  void bring_along(const std::array<SmallCopy, 2>& copies) { brought_along_ = copies; }
  void end(Stream& stream);

  /// Whether the rows of a data set lie in the device's memory.
  bool on_device(const data::Feeder& examples) const { return sources_.at(&examples).features != nullptr; }
  bool all_on_device() const { return staging_bytes_ == 0; }
  std::size_t bytes() const;

 private:
  struct Source {
    const std::byte *features = nullptr, *labels = nullptr;  ///< on the device; null where the host copies rows
    Buffer affine;                                           ///< shift, scale and offset of each channel
    Buffer weights;                                          ///< of the examples, where they are on the device
    DeviceAffine conversion;
  };
  /// Rows of a step in flight.
  struct Staging {
    Buffer host, device;
    std::unique_ptr<Event> copied, consumed;
  };
  const std::byte* resident(const data::Array& array);
  bool fits(const data::Dataset& dataset) const;

  Device& device_;
  const RowKernels& kernels_;
  data::Cache cache_;
  std::map<const std::byte*, Buffer> arrays_;  ///< by where the host has them: data sets may share arrays
  std::map<const data::Feeder*, Source> sources_;
  std::array<Staging, 3> stagings_;
  std::size_t staging_bytes_ = 0, staging_ = 0;         ///< room, the one in use
  std::size_t staged_labels_ = 0, staged_weights_ = 0;  ///< where they begin
  std::array<SmallCopy, 2> brought_along_;
  std::unique_ptr<Stream> copies_;  ///< last, so that it ends first
};

}  // namespace mirrortrain
