#pragma once

#include <chrono>

namespace mirrortrain::rpc {

/// How often the chief sends heartbeats and checks for silent tasks, and how often tasks send theirs.
inline constexpr std::chrono::milliseconds kHeartbeat{1000};
/// Silence after which a task is regarded as the cause of an operation that failed elsewhere.
inline constexpr std::chrono::milliseconds kSuspiciousSilence{2500};
/// How long the chief waits after a suspicion: longer than a heartbeat, which reports a task's progress, and long
/// enough for a dead task's connection to end.
inline constexpr std::chrono::milliseconds kEvidence{1200};
/// How long a task that joins an elastic run must stay before the others stop for it.
inline constexpr std::chrono::milliseconds kSettled{2000};
/// The longest such time, for one that is lost again and again.
inline constexpr std::chrono::minutes kLongestSettled{5};
/// The time after which a chief that listens but does not respond as expected is reported.
inline constexpr std::chrono::seconds kMismatch{3};
/// How often the log reports which tasks are waited for.
inline constexpr std::chrono::seconds kReminder{10};

inline double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace mirrortrain::rpc
