#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "config/section.h"

namespace mirrortrain::data {

// TensorFlow's hashes of texts, which Keras's Hashing and HashedCrossing are made of. They are the same on every
// machine.

/// farmhash's Fingerprint64.
std::uint64_t fingerprint(std::string_view text);

/// The bin below `bins` of several values together, by their fingerprints: Keras's HashedCrossing.
std::int64_t crossed_bin(std::span<const std::uint64_t> fingerprints, std::int64_t bins);

/// The key of SipHash: a number that is used twice, or two.
using Salt = std::variant<std::int64_t, std::array<std::int64_t, 2>>;

/// Keras's Hashing: the fingerprint of a text modulo the number of bins, or with a salt its SipHash-2-4. Where a value
/// is masked, bin 0 is its own, and the others have those from 1 on.
class HashBins {
 public:
  HashBins(std::int64_t bins, const std::optional<Salt>& salt, bool masks);

  /// Of a text that is not masked.
  std::int64_t operator()(std::string_view text) const;
  /// Whether bin 0 is the masked value's: one bin is that of all.
  bool masks() const { return masks_; }

 private:
  std::uint64_t bins_;
  std::optional<std::array<unsigned char, 16>> key_;
  bool masks_;
};

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Salt> {
  static constexpr std::string_view noun = "a whole number or a list of two";
};
