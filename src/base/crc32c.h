#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mirrortrain {

/// CRC-32C (Castagnoli).
std::uint32_t crc32c_of(std::span<const std::byte> bytes);
/// The same without the processor's CRC-32C instruction.
std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes);

/// As TFRecords store it: rotated and shifted, so that the checksum of bytes that hold a checksum stays useful.
std::uint32_t masked_crc32c_of(std::span<const std::byte> bytes);

}  // namespace mirrortrain
