#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mirrortrain {

/// The sum modulo 2^64 of the memory's words, each multiplied by a different odd number: any one-bit difference changes
/// it, and other differences do except for one in 2^64.
std::uint64_t checksum(std::span<const std::byte> bytes);

/// The replicas whose copies differ, given the checksum of each: "replica 2 has other values than the rest", or
/// "replicas 0, 1 and replicas 2, 3 have different values" if there is no majority. Empty if all are equal. `noun`:
/// what they are.
std::string differing_replicas_text(std::span<const std::uint64_t> checksums, std::string_view noun = "replica");

}  // namespace mirrortrain
