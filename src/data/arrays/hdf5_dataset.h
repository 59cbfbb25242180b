#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/arrays/element.h"
#include "data/files/input.h"

namespace mirrortrain::data {

/// Where the elements of an HDF5 dataset are in its file.
struct Hdf5Dataset {
  std::string path, name;  ///< the file, and what messages call the dataset
  Element element;
  Shape shape;
  std::optional<std::uint64_t> offset{};  ///< of elements that lie one after the other
  std::vector<std::byte> bytes{};         ///< of a few elements that were read already

  /// How the bytes of a chunk were changed when they were written, in this order.
  enum class Filter : std::uint8_t { kDeflate, kShuffle, kChecksum };
  struct Chunk {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t left_out;  ///< a bit for each filter
  };
  std::vector<std::int64_t> chunk{};  ///< the extents of a chunk
  std::vector<Filter> filters{};
  std::vector<Chunk> chunks{};  ///< in the order of their first elements
};

/// The elements' bytes, in order.
std::unique_ptr<Input> open_dataset(std::shared_ptr<const Hdf5Dataset> dataset);

}  // namespace mirrortrain::data
