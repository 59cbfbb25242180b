#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mirrortrain::data {

/// Calls work(i) for i from 0 to `count` - 1 in `threads` threads, the caller's among them: each takes the next i that
/// none has begun. Work that returns false, or throws, lets none of the later ones begin. Throws the exception of the
/// first i that has one, unless an earlier one returned false: whatever the threads, the same as a loop. Returns the
/// first i whose work returned false, or `count`.
template <class Work>
std::size_t in_threads(std::size_t count, std::int64_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0, end = count;
  std::mutex mutex;
  std::exception_ptr failure;  // of work(end)
  const auto end_at = [&](std::size_t i, std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    if (i >= end) return;
    end = i;
    failure = std::move(why);
  };
  // Whoever begins one has seen all before it begun, so that the first that ends the work is among them.
  const auto run = [&] {
    for (std::size_t i = next++; i < end; i = next++) {
      try {
        if constexpr (std::is_void_v<decltype(work(i))>) {
          work(i);
        } else if (!work(i)) {
          end_at(i, nullptr);
        }
      } catch (...) {
        end_at(i, std::current_exception());
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t most = std::min(count, static_cast<std::size_t>(std::max<std::int64_t>(threads, 1)));
    for (std::size_t i = 1; i < most; ++i) others.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
  return end;
}

}  // namespace mirrortrain::data
