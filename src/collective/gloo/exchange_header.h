#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "collective/meeting.h"

namespace mirrortrain {

/// Before each small message: ranks that are in different operations must not add each other's bytes.
using ExchangeHeader = std::array<std::uint64_t, 8>;

/// Of a group's exchange of this number.
inline ExchangeHeader header_of(const CollectiveCall& call, std::size_t bytes, std::uint64_t number) {
  return {bytes, static_cast<std::uint64_t>(call.operation), static_cast<std::uint64_t>(call.elements.dtype), number};
}

/// Not one of gloo's own operations, which have a number in the upper byte, nor of the greetings.
inline std::uint64_t exchange_slot(std::uint64_t number) { return number << 8 | 3; }

}  // namespace mirrortrain
