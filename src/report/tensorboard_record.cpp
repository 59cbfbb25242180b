#include "report/tensorboard_record.h"

#include <bit>
#include <cstring>
#include <span>

#include "base/crc32c.h"

namespace mirrortrain::report {
namespace {

static_assert(std::endian::native == std::endian::little, "TFRecords and protocol buffers are little-endian");

template <class Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string checksum_of(std::string_view bytes) { return raw(masked_crc32c_of(std::as_bytes(std::span(bytes)))); }

}  // namespace

std::string tf_record(std::string_view payload) {
  const std::string length = raw(static_cast<std::uint64_t>(payload.size()));
  return length + checksum_of(length) + std::string(payload) + checksum_of(payload);
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

ProtoMessage tensor_shape(std::span<const std::int64_t> sizes) {
  constexpr int kDimension = 2, kSize = 1;  // fields of tensor_shape.proto
  ProtoMessage shape;
  for (const std::int64_t size : sizes) {
    ProtoMessage dimension;
    dimension.put_varint(kSize, static_cast<std::uint64_t>(size));
    shape.put_bytes(kDimension, dimension.bytes());
  }
  return shape;
}

void ProtoMessage::put_key(int field, int wire_type) {
  put_raw_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void ProtoMessage::put_raw_varint(std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
  bytes_ += static_cast<char>(value);
}

}  // namespace mirrortrain::report
