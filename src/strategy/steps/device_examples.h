#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "data/feeding/feeder.h"
#include "data/sources/data_options.h"
#include "device/device.h"
#include "kernels/row_kernels.h"

namespace mirrortrain {

/// The examples of a device with its own memory: data sets reside in its memory, or the host gathers a step's rows and
/// copies them, some steps ahead. In both cases they keep their file's type: the device converts them.
class DeviceExamples {
 public:
  DeviceExamples(Device& device, const RowKernels& kernels, data::Cache cache);

  /// Prepares a data set, of which a step uses up to `most_rows` rows here. Throws Error if it must reside in the
  /// device's memory and there is too little.
  void add(const data::Feeder& examples, std::int64_t most_rows);

  /// Forgets a data set, of which no step is in flight. Others must not share its arrays.
  void remove(const data::Feeder& examples);

  // In each step: `begin`, `gather` for each replica, `end`. `examples` must have been added.

  /// Starts copying the examples for `parts` of the step's batch in this epoch; work enqueued to `stream` after this
  /// call sees them. Writes the indices that `gather` needs in device memory to `rows`, for one part after the other.
  void begin(Stream& stream, const data::Feeder& examples, std::span<const data::BatchPart> parts,
             std::span<std::int64_t> rows, std::int64_t epoch);
  /// Writes `count` preprocessed examples to a replica's inputs. `choice`: the device's copy of a part of the rows that
  /// `begin` returned.
  void gather(Stream& stream, const data::Feeder& examples, const std::int64_t* choice, std::int64_t count,
              const data::BatchBuffers& to);
  /// Fuses these copies into the next `gather`.
  void bring_along(const std::array<SmallCopy, 2>& copies) { brought_along_ = copies; }
  void end(Stream& stream);

  /// Whether a data set's rows reside in the device's memory.
  bool on_device(const data::Feeder& examples) const { return sources_.at(&examples).is_resident; }
  bool all_on_device() const { return staging_bytes_ == 0; }
  std::size_t bytes() const;

 private:
  /// Where one array of a data set is.
  struct Place {
    std::size_t row_bytes = 0;
    const std::byte* resident = nullptr;  ///< on the device; null if the host copies rows
    std::size_t staged_at = 0;            ///< the offset of the step's rows in the staging memory
  };
  struct Input {
    Place features;
    Buffer affine;  ///< shift, scale and offset of each channel
    DeviceAffine conversion;
  };
  struct Output {
    Place labels, weights, present;               ///< the last two without rows if the data set has none
    Buffer weights_on_device, present_on_device;  ///< if they reside there
  };
  struct Source {
    bool is_resident = false;
    std::vector<Input> inputs;
    std::vector<Output> outputs;

    /// Calls visit(Place) for all that have rows.
    template <class Visit>
    void for_each_place(const Visit& visit);
  };
  /// Rows of a step in flight.
  struct Staging {
    Buffer host, device;
    std::unique_ptr<Event> copied, consumed;
  };
  static Source source_of(const data::Feeder& examples);
  void stage(const Source& source, std::byte* host, std::size_t first, const data::Feeder& examples,
             const data::BatchPart& part, std::int64_t epoch);
  void upload_affine(const data::Affine& affine, Input& input);
  void make_resident(const data::Feeder& examples, Source& source);
  const std::byte* resident(const data::Array& array);
  bool fits(const data::Dataset& dataset) const;
  /// The bytes of `rows` staged rows, whose places are set.
  static std::size_t lay_out(Source& source, std::size_t rows);

  Device& device_;
  const RowKernels& kernels_;
  data::Cache cache_;
  std::map<const std::byte*, Buffer> arrays_;  ///< by their address on the host: data sets may share arrays
  std::map<const data::Feeder*, Source> sources_;
  std::array<Staging, 3> stagings_;
  std::size_t staging_bytes_ = 0, staging_ = 0;  ///< capacity; index of the one in use
  std::vector<std::byte*> staged_inputs_;        ///< of the step being staged
  std::vector<data::Feeder::LabelCopies> staged_outputs_;
  std::array<SmallCopy, 2> brought_along_;
  std::unique_ptr<Stream> copies_;  ///< last, so that it is destroyed first
};

}  // namespace mirrortrain
