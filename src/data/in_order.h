#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "data/in_threads.h"

namespace mirrortrain::data {

/// Calls take(work(i)) for i from 0 to `count` - 1, in this order, while several threads compute some of the results
/// ahead. Throws the exception of the first i that has one, as a loop would.
template <class Work, class Take>
void in_order(std::size_t count, int threads, const Work& work, const Take& take) {
  using Result = decltype(work(std::size_t{0}));
  struct Slot {
    std::optional<Result> result;
    std::exception_ptr error;
  };
  const std::size_t most = std::max(threads, 1), together = most == 1 ? 1 : most * 2;
  for (std::size_t first = 0; first < count; first += together) {
    std::vector<Slot> slots(std::min(together, count - first));
    in_threads(slots.size(), threads, [&](std::size_t i) {
      try {
        slots[i].result.emplace(work(first + i));
      } catch (...) {  // after those before it are taken
        slots[i].error = std::current_exception();
      }
    });
    for (Slot& slot : slots) {
      if (slot.error) std::rethrow_exception(slot.error);
      take(*std::move(slot.result));
    }
  }
}

}  // namespace mirrortrain::data
