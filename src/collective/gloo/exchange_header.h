#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "collective/call_barrier.h"

namespace mirrortrain {

/// Before each small message: ranks that are in different operations must not add each other's bytes.
using ExchangeHeader = std::array<std::uint64_t, 8>;

/// Of a group's exchange of this number.
inline ExchangeHeader header_of(const CollectiveCall& call, std::size_t bytes, std::uint64_t number) {
  return {bytes, static_cast<std::uint64_t>(call.operation), static_cast<std::uint64_t>(call.elements.dtype), number};
}

/// Throws Error, naming `other`, if its message begins with another header.
inline void require_header(const CollectiveCall& call, const ExchangeHeader& header, int other,
                           const std::byte* message) {
  if (std::memcmp(message, header.data(), sizeof header) == 0) return;
  throw Error(fmt::format("{}: rank {} is in another operation", call.text(), other));
}

}  // namespace mirrortrain
