#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mirrortrain {

/// Who may sleep on a word: threads of this process, or of all that share its memory.
enum class FutexScope : std::uint8_t { kProcess, kSharedMemory };

/// Sleeps while `word` holds `seen`, until woken, for at most `longest`; may return earlier. std::atomic::wait has no
/// time limit and does not work across processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds longest,
                FutexScope scope);

/// Wakes all who sleep on `word`.
void futex_wake_all(std::atomic<std::uint32_t>& word, FutexScope scope);

}  // namespace mirrortrain
