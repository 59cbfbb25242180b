#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"

namespace mirrortrain {

/// Elements to sum whose sum is known: whole numbers up to 255, so that sums of up to 65000 are exact in any order.
/// Every element, rank and round has its own.
void fill_sample(std::span<float> elements, int rank, int round);

/// How many are not the sum of what fill_sample gave `ranks` ranks in that round.
std::uint64_t count_wrong_sums(std::span<const float> elements, int ranks, int round);

/// Samples in a device's memory, written and read by the host: where they lie on a CPU, through a copy on a GPU.
class SampleElements {
 public:
  /// Room for `elements` in rows of up to `longest`, each aligned to 64 bytes.
  SampleElements(Device& device, std::size_t elements, std::size_t longest);

  /// What `rows` rows of `count` elements need.
  static std::size_t room(std::size_t rows, std::size_t count);

  /// One of rows of `count` elements, on the device.
  std::span<float> row(std::size_t row, std::size_t count) const;
  /// Both return when it is done.
  void fill(Stream& stream, std::size_t row, std::size_t count, int rank, int round) const;
  std::uint64_t count_wrong(Stream& stream, std::size_t row, std::size_t count, int ranks, int round) const;

 private:
  Buffer device_, host_;  ///< host_: the longest row, for a GPU alone
};

}  // namespace mirrortrain
