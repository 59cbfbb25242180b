// How the chief detects silent tasks, and the task that caused a failed operation.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rpc/grpc_log.h"
#include "rpc/hub.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {

/// ", in step 17, in bucket 1 of 3: ...", as far as known.
std::string Hub::whereabouts(const Member& member) const {
  std::string text;
  if (member.progress.step() > 0) text += fmt::format(" in step {}", member.progress.step());
  if (!member.progress.operation().empty()) text += fmt::format(", in {}", member.progress.operation());
  return text;
}

/// "worker 1 (...) has not been heard from for 6 s, last in step 17".
std::string Hub::silence_of(const Member& member) const {
  const std::string where = whereabouts(member);
  return fmt::format("{}{} for {:.0f} s{}{}", cluster_.describe(member.task), kIsSilent,
                     seconds(Clock::now() - member.heard), where.empty() ? "" : ", last", where);
}

/// After an operation failed on a task without any connection ending: fails the run, naming the task that is silent or
/// behind the others.
void Hub::judge(const std::string& error, int from) {
  const auto now = Clock::now();
  Member* silent = nullptr;
  Member* behind = nullptr;
  bool all_alike = true;
  for (Member& member : members_) {
    const bool trains = member.task.job == Job::kChief || member.task.job == Job::kWorker;
    if (!member.takes_part() || !trains) continue;
    if (now - member.heard > kSuspiciousSilence && (silent == nullptr || member.heard < silent->heard))
      silent = &member;
    if (behind != nullptr && member.progress.operations() != behind->progress.operations()) all_alike = false;
    if (behind == nullptr || member.progress.operations() < behind->progress.operations()) behind = &member;
  }
  if (silent != nullptr) return fail(silence_of(*silent), silent);
  Member& suspect = members_[static_cast<std::size_t>(from)];
  if (all_alike || behind == nullptr) {
    // Once is chance. Of a task that reports it again an elastic run goes on without it: its network may be cut.
    const bool is_again = timeouts_.elastic && &suspect != &chief() && recent_losses(suspect) > 0;
    if (timeouts_.elastic && !is_again) losses_.push_back({suspect.task, Clock::now()});
    return fail(fmt::format("{}{}{}: {}", cluster_.describe(suspect.task), kHasFailed, whereabouts(suspect), error),
                is_again ? &suspect : nullptr);
  }
  fail(fmt::format("{}{}{} ({}: {})", cluster_.describe(behind->task), kIsBehind, whereabouts(*behind),
                   suspect.task.text(), error),
       behind);
}

void Hub::watch() {
  std::unique_lock lock(mutex_);
  auto next_heartbeat = Clock::now(), next_reminder = Clock::now() + kReminder, last_turn = Clock::now();
  auto next_warning = Clock::now();
  bool has_waited = false;
  while (!ends_) {
    const auto until =
        suspicious_ >= 0 && failure_.empty() ? std::min(next_heartbeat, suspicion_since_ + kEvidence) : next_heartbeat;
    changed_.wait_until(lock, until);
    const auto now = Clock::now();
    if (const auto paused = now - last_turn - kHeartbeat; paused > kHeartbeat) {
      for (Member& member : members_) member.heard += paused;  // this process was stopped, and received none meanwhile
    }
    last_turn = now;
    if (suspicious_ >= 0 && failure_.empty() && now >= suspicion_since_ + kEvidence) judge(suspicion_, suspicious_);
    if (now < next_heartbeat) continue;
    next_heartbeat = now + kHeartbeat;
    ToTask heartbeat;
    heartbeat.set_heartbeat(true);
    for (const Member& member : members_) {  // late ones too, which would otherwise regard the chief as silent
      if (member.send) member.send(heartbeat);
    }
    if (!welcomed_) welcome_without_missing();
    regroup_with_late_members();
    if (const std::string error = welcomed_ ? "" : take_handshake_error(); !error.empty() && now >= next_warning) {
      next_warning = now + kReminder;
      spdlog::warn("{}", handshake_text(error));
    }
    if (!welcomed_ && now >= next_reminder) {
      next_reminder = now + kReminder;
      std::vector<std::string> missing;
      for (const Member& member : members_) {
        if (!member.joined && !member.lost && !member.late) missing.push_back(cluster_.describe(member.task));
      }
      // The first time as a warning, which is also shown in a quiet run.
      const auto level = std::exchange(has_waited, true) ? spdlog::level::info : spdlog::level::warn;
      const std::string hint =
          loopback_.empty()
              ? ""
              : fmt::format("; the chief's own name is {} here, which no other machine reaches", loopback_);
      if (!missing.empty()) spdlog::log(level, "waiting for {}{}", fmt::join(missing, ", "), hint);
    }
    if (timeouts_.silence_seconds <= 0 || !welcomed_) continue;
    for (Member& member : members_) {
      if (&member == &chief()) continue;  // this process
      if (!member.takes_part() || seconds(now - member.heard) < timeouts_.silence_seconds) continue;
      member.gone = true;
      if (may_leave(member)) {
        const std::string silence = fmt::format("{} for {:.0f} s", kIsSilent, seconds(now - member.heard));
        miss(member, silence);
        if (timeouts_.on_silence) timeouts_.on_silence(member.task, "it" + silence);
      } else {
        fail(silence_of(member), &member);
      }
      decide_stop();
    }
  }
}

}  // namespace mirrortrain::rpc
