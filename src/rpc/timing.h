#pragma once

#include <chrono>

namespace mirrortrain::rpc {

/// How often the chief sends everybody a heartbeat, and looks for who is silent; and how often tasks send theirs.
inline constexpr std::chrono::milliseconds kHeartbeat{1000};
/// Silence after which a task is to blame for an operation that failed elsewhere.
inline constexpr std::chrono::milliseconds kSuspiciousSilence{2500};
/// What the chief waits after a suspicion: longer than a heartbeat, which says how far a task is, and for the end of a
/// dead task's connection.
inline constexpr std::chrono::milliseconds kEvidence{1200};
/// How often a log says whom a task waits for.
inline constexpr std::chrono::seconds kReminder{10};

inline double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace mirrortrain::rpc
