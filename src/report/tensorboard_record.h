#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mirrortrain::report {

/// A TFRecord: length, checksum of the length, payload, checksum of the payload.
std::string tf_record(std::string_view payload);

/// A protocol buffer message with the few kinds of fields that an event needs.
class ProtoMessage {
 public:
  void put_varint(int field, std::uint64_t value);
  void put_double(int field, double value);
  void put_float(int field, float value);
  void put_bytes(int field, std::string_view bytes);

  const std::string& bytes() const { return bytes_; }

 private:
  void put_key(int field, int wire_type);
  void put_raw_varint(std::uint64_t value);

  std::string bytes_;
};

/// TensorFlow's TensorShapeProto message; -1 is a size that is not known.
ProtoMessage tensor_shape(std::span<const std::int64_t> sizes);

}  // namespace mirrortrain::report
