#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/host_device.h"

namespace mirrortrain {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011): four random 32-bit
/// words that are a pure function of a counter and a key, so the same bits come out on every device and thread.
struct Philox {
  std::uint32_t key0, key1;

  MIRRORTRAIN_HOST_DEVICE static Philox with_key(std::uint64_t key) {
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  }

  struct Words {
    std::uint32_t word[4];
  };

  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;

  MIRRORTRAIN_HOST_DEVICE Words operator()(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                           std::uint32_t c3) const {
    Philox keys = *this;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t product0 = std::uint64_t{kMultiplier0} * c0;
      const std::uint64_t product1 = std::uint64_t{kMultiplier1} * c2;
      c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ keys.key0;
      c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ keys.key1;
      c1 = static_cast<std::uint32_t>(product1);
      c3 = static_cast<std::uint32_t>(product0);
      keys.next_round();
    }
    return {{c0, c1, c2, c3}};
  }

  MIRRORTRAIN_HOST_DEVICE void next_round() {
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
};

/// In [0, 1), from the upper 24 bits.
MIRRORTRAIN_HOST_DEVICE inline float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

/// FNV-1a: a number for a name, the same on every machine, to keep the random streams of layers and variables apart.
constexpr std::uint64_t hash_of_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace mirrortrain
