#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace mirrortrain {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are taken as one number");

using Table = std::array<std::uint32_t, 256>;

// kTables[k] advances a byte's remainder by k bytes more, so that eight bytes are processed at once ("slicing by 8",
// Kounavis and Berry 2005).
constexpr std::array<Table, 8> kTables = [] {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFFu];
    }
  }
  return tables;
}();

#ifdef __x86_64__
/// As crc32c_of, with the processor's CRC-32C instruction.
[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes) {
  std::uint64_t crc = ~0u;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<std::uint8_t>(byte));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_of(std::span<const std::byte> bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(bytes);
#endif
  return crc32c_by_tables(bytes);
}

std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFFu];
  }
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned>(byte)) & 0xFFu];
  return ~crc;
}

std::uint32_t masked_crc32c_of(std::span<const std::byte> bytes) {
  return std::rotr(crc32c_of(bytes), 15) + 0xA282EAD8u;
}

}  // namespace mirrortrain
