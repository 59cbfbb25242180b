#include "report/tfrecord.h"

#include <array>
#include <bit>
#include <cstring>

namespace mirrortrain::report {
namespace {

static_assert(std::endian::native == std::endian::little, "TFRecords and protocol buffers are little-endian");

constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    table[byte] = crc;
  }
  return table;
}();

template <class Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// TFRecords rotate and shift the checksum, so that the checksum of bytes that hold a checksum stays useful.
std::string masked_crc32c(std::string_view bytes) { return raw(std::rotr(crc32c_of(bytes), 15) + 0xA282EAD8u); }

}  // namespace

std::uint32_t crc32c_of(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrc32cTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFu];
  return ~crc;
}

std::string tf_record(std::string_view payload) {
  const std::string length = raw(static_cast<std::uint64_t>(payload.size()));
  return length + masked_crc32c(length) + std::string(payload) + masked_crc32c(payload);
}

void ProtoMessage::put_varint(int field, std::uint64_t value) {
  put_key(field, 0);
  put_raw_varint(value);
}

void ProtoMessage::put_double(int field, double value) {
  put_key(field, 1);
  bytes_ += raw(value);
}

void ProtoMessage::put_float(int field, float value) {
  put_key(field, 5);
  bytes_ += raw(value);
}

void ProtoMessage::put_bytes(int field, std::string_view bytes) {
  put_key(field, 2);
  put_raw_varint(bytes.size());
  bytes_ += bytes;
}

void ProtoMessage::put_key(int field, int wire_type) {
  put_raw_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void ProtoMessage::put_raw_varint(std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
  bytes_ += static_cast<char>(value);
}

}  // namespace mirrortrain::report
