#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

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
    std::atomic<std::size_t> next = 0;
    const auto run = [&] {
      for (std::size_t i = next++; i < slots.size(); i = next++) {
        try {
          slots[i].result.emplace(work(first + i));
        } catch (...) {
          slots[i].error = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < std::min(most, slots.size()); ++i) others.emplace_back(run);
      run();
    }
    for (Slot& slot : slots) {
      if (slot.error) std::rethrow_exception(slot.error);
      take(*std::move(slot.result));
    }
  }
}

}  // namespace mirrortrain::data
