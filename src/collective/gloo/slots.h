#pragma once

#include <cstdint>

namespace mirrortrain {

// Slots of gloo's messages that are not of its own operations, which have a number in the upper byte.

inline constexpr std::uint64_t kUnansweredSlot = 1;  ///< of a receive that nobody answers
inline constexpr std::uint64_t kGreetingSlot = 2;    ///< of ranks that have just connected
/// Of a group's exchange of small messages of this number.
inline std::uint64_t exchange_slot(std::uint64_t number) { return number << 8 | 3; }

}  // namespace mirrortrain
