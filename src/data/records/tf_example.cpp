#include "data/records/tf_example.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

static_assert(std::endian::native == std::endian::little, "protocol buffers are little-endian");

using ByteSpan = std::span<const std::byte>;

[[noreturn]] void fail(std::string_view what) { throw Error(fmt::format("is no tf.train.Example: {}", what)); }

/// Iterates over the fields of a message (protobuf.dev/programming-guides/encoding).
class Fields {
 public:
  explicit Fields(ByteSpan message) : rest_(message) {}

  /// Moves to the next field; returns false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    number_ = key >> 3;
    switch (key & 7) {
      case 0:
        wire_ = Wire::kVarint;
        integer_ = varint();
        break;
      case 1: bytes_ = taken(8), wire_ = Wire::kOther; break;
      case 2: bytes_ = taken(varint()), wire_ = Wire::kBytes; break;
      case 5: bytes_ = taken(4), wire_ = Wire::kFixed32; break;
      default: fail(fmt::format("a field has wire type {}", key & 7));
    }
    return true;
  }

  /// Whether it is this field, with the wire type of messages, strings and packed values.
  bool is_bytes(std::uint64_t number) const { return number_ == number && wire_ == Wire::kBytes; }
  bool is_fixed32(std::uint64_t number) const { return number_ == number && wire_ == Wire::kFixed32; }
  bool is_varint(std::uint64_t number) const { return number_ == number && wire_ == Wire::kVarint; }
  std::uint64_t number() const { return number_; }
  ByteSpan bytes() const { return bytes_; }
  std::uint64_t integer() const { return integer_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

  /// For packed integers.
  bool at_end() const { return rest_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 10; ++i) {
      if (i >= rest_.size()) fail("a number is cut off");
      const auto byte = static_cast<std::uint64_t>(rest_[i]);
      value |= (byte & 127) << (7 * i);
      if (byte < 128) {
        rest_ = rest_.subspan(i + 1);
        return value;
      }
    }
    fail("a number has more than 10 bytes");
  }

 private:
  enum class Wire : std::uint8_t { kVarint, kBytes, kFixed32, kOther };

  ByteSpan taken(std::uint64_t bytes) {
    if (bytes > rest_.size()) fail(fmt::format("a field of {} bytes is cut off", bytes));
    const ByteSpan taken = rest_.first(static_cast<std::size_t>(bytes));
    rest_ = rest_.subspan(static_cast<std::size_t>(bytes));
    return taken;
  }

  ByteSpan rest_, bytes_;
  std::uint64_t number_ = 0, integer_ = 0;
  Wire wire_ = Wire::kOther;
};

/// Calls use(name, the Feature's bytes) for every feature.
template <class Use>
void for_each_feature(ByteSpan record, const Use& use) {
  for (Fields example(record); example.next();) {
    if (!example.is_bytes(1)) continue;
    for (Fields features(example.bytes()); features.next();) {
      if (!features.is_bytes(1)) continue;
      std::string_view name;
      ByteSpan feature;
      for (Fields entry(features.bytes()); entry.next();) {
        if (entry.is_bytes(1)) name = entry.text();
        if (entry.is_bytes(2)) feature = entry.bytes();
      }
      use(name, feature);
    }
  }
}

}  // namespace

ExampleFeature find_feature(ByteSpan record, std::string_view name) {
  ExampleFeature found;
  for_each_feature(record, [&](std::string_view own, ByteSpan feature) {
    if (own != name) return;
    for (Fields list(feature); list.next();) {
      if (list.number() < 1 || list.number() > 3 || !list.is_bytes(list.number())) continue;
      found = {static_cast<ExampleFeature::Kind>(list.number()), list.bytes()};
    }
  });
  return found;
}

std::vector<std::string> feature_names(ByteSpan record) {
  std::vector<std::string> names;
  for_each_feature(record, [&](std::string_view name, ByteSpan) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

void add_bytes(const ExampleFeature& feature, std::vector<ByteSpan>& values) {
  for (Fields list(feature.list); list.next();) {
    if (list.is_bytes(1)) values.push_back(list.bytes());
  }
}

void add_floats(const ExampleFeature& feature, std::vector<float>& values) {
  for (Fields list(feature.list); list.next();) {
    if (!list.is_bytes(1) && !list.is_fixed32(1)) continue;
    const ByteSpan bytes = list.bytes();
    if (bytes.size() % sizeof(float) != 0) fail("a list of floats is cut off");
    const std::size_t first = values.size();
    values.resize(first + bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(values.data() + first, bytes.data(), bytes.size());
  }
}

void add_integers(const ExampleFeature& feature, std::vector<std::int64_t>& values) {
  for (Fields list(feature.list); list.next();) {
    if (list.is_varint(1)) values.push_back(static_cast<std::int64_t>(list.integer()));
    if (!list.is_bytes(1)) continue;
    for (Fields packed(list.bytes()); !packed.at_end();) values.push_back(static_cast<std::int64_t>(packed.varint()));
  }
}

}  // namespace mirrortrain::data
