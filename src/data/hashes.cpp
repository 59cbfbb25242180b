#include "data/hashes.h"

#include <farmhash.h>
#include <sodium/crypto_shorthash_siphash24.h>

#include <cstddef>

namespace mirrortrain::data {
namespace {

template <std::size_t kBytes>
void put_little_endian(std::uint64_t number, std::array<unsigned char, kBytes>& to, std::size_t first) {
  for (std::size_t i = 0; i < sizeof(number); ++i) to[first + i] = static_cast<unsigned char>(number >> 8 * i);
}

std::uint64_t sip_hash(const std::array<unsigned char, 16>& key, std::string_view text) {
  static_assert(crypto_shorthash_siphash24_KEYBYTES == 16 && crypto_shorthash_siphash24_BYTES == 8);
  std::array<unsigned char, 8> bytes{};
  crypto_shorthash_siphash24(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                             key.data());
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) hash |= std::uint64_t{bytes[i]} << 8 * i;
  return hash;
}

std::uint64_t shift_mix(std::uint64_t number) { return number ^ number >> 47; }

/// TensorFlow's FingerprintCat64, which depends on the order of the two.
std::uint64_t joined(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  std::uint64_t result = first ^ kFactor;
  result ^= shift_mix(second * kFactor) * kFactor;
  result *= kFactor;
  result = shift_mix(result) * kFactor;
  return shift_mix(result);
}

}  // namespace

std::uint64_t fingerprint(std::string_view text) { return util::Fingerprint64(text.data(), text.size()); }

std::int64_t crossed_bin(std::span<const std::uint64_t> fingerprints, std::int64_t bins) {
  std::uint64_t all = 0xDECAFCAFFE;  // where tf.sparse.cross_hashed begins
  for (const std::uint64_t one : fingerprints) all = joined(all, one);
  return static_cast<std::int64_t>(all % static_cast<std::uint64_t>(bins));
}

HashBins::HashBins(std::int64_t bins, const std::optional<Salt>& salt, bool masks)
    : bins_(static_cast<std::uint64_t>(bins)), masks_(masks && bins > 1) {
  if (masks_) --bins_;
  if (!salt) return;
  const auto* const two = std::get_if<std::array<std::int64_t, 2>>(&*salt);
  key_.emplace();
  for (const std::size_t i : {0, 1}) {
    put_little_endian(static_cast<std::uint64_t>(two != nullptr ? (*two)[i] : std::get<std::int64_t>(*salt)), *key_,
                      8 * i);
  }
}

std::int64_t HashBins::operator()(std::string_view text) const {
  const std::uint64_t hash = key_ ? sip_hash(*key_, text) : fingerprint(text);
  return static_cast<std::int64_t>(hash % bins_) + (masks_ ? 1 : 0);
}

}  // namespace mirrortrain::data
