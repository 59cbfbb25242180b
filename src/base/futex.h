#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mirrortrain {

/// Who may sleep on a word: threads of this process, or of all that share its memory.
enum class FutexScope : std::uint8_t { kProcess, kSharedMemory };

/// Sleeps while `word` holds `seen`, until it is woken, at most for `longest`; may return earlier. std::atomic::wait
/// knows no time limit and no other processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds longest,
                FutexScope scope);

/// Wakes all who sleep on `word`.
void futex_wake_all(std::atomic<std::uint32_t>& word, FutexScope scope);

}  // namespace mirrortrain
