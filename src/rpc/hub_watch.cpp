// How the chief detects silent tasks, and the task that caused a failed operation.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
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

/// Later ones, until the judgement, only say whom else does not reach whom.
void Hub::take_suspicion(int from, const Suspicion& suspicion) {
  if (!failure_.empty()) return;
  Member& member = members_[static_cast<std::size_t>(from)];
  for (const std::string& name : suspicion.unreached()) {
    if (Member* const other = member_named(name); other != nullptr && other != &member) member.unreached.insert(other);
  }
  if (suspicious_ >= 0) return;
  suspicion_ = suspicion.error();
  suspicious_ = from;
  suspicion_since_ = Clock::now();
  changed_.notify_all();
}

bool Hub::trains(const Member& member) const {
  return member.takes_part() && (member.task.job == Job::kChief || member.task.job == Job::kWorker);
}

/// After an operation failed on a task without any connection ending: fails the run, naming the task that is silent or
/// behind the others.
void Hub::judge(const std::string& error, int from) {
  const auto now = Clock::now();
  Member* silent = nullptr;
  Member* behind = nullptr;
  bool all_alike = true;
  for (Member& member : members_) {
    if (!trains(member)) continue;
    if (now - member.heard > kSuspiciousSilence && (silent == nullptr || member.heard < silent->heard))
      silent = &member;
    if (behind != nullptr && member.progress.operations() != behind->progress.operations()) all_alike = false;
    if (behind == nullptr || member.progress.operations() < behind->progress.operations()) behind = &member;
  }
  if (silent != nullptr) return fail(silence_of(*silent), {silent});
  if ((timeouts_.elastic || all_alike) && judge_links(error)) return;
  Member& suspect = members_[static_cast<std::size_t>(from)];
  if (all_alike || behind == nullptr) {
    // Once is chance. Of a task that reports it again an elastic run continues without it: its network may be cut.
    const bool is_again = timeouts_.elastic && &suspect != &chief() && recent_losses(suspect) > 0;
    if (timeouts_.elastic && !is_again) losses_.push_back({suspect.task, Clock::now()});
    return fail(fmt::format("{}{}{}: {}", cluster_.describe(suspect.task), kHasFailed, whereabouts(suspect), error),
                is_again ? std::vector{&suspect} : std::vector<Member*>());
  }
  fail(fmt::format("{}{}{} ({}: {})", cluster_.describe(behind->task), kIsBehind, whereabouts(*behind),
                   suspect.task.text(), error),
       {behind});
}

/// Whether tasks have reported that they do not reach each other; then fails the run, naming the ones that the fewest
/// reach. Who is ahead waits for the others of such a pair, which cannot continue.
bool Hub::judge_links(const std::string& error) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Member& member : members_) {
    if (trains(member)) least = std::min(least, member.progress.operations());
  }
  for (Member& member : members_) {
    if (!trains(member) || member.progress.operations() > least) member.unreached.clear();
  }
  for (Member& member : members_) {  // a link that one side alone misses is cut as well
    for (Member* const other : member.unreached) other->unreached.insert(&member);
  }
  const std::vector<Member*> blamed = least_reached();
  if (blamed.empty()) return false;
  std::vector<std::string> texts;
  for (const Member* const member : blamed) {
    std::vector<std::string> others;
    for (const Member* const other : member->unreached) others.push_back(cluster_.describe(other->task));
    texts.push_back(fmt::format("{} and {} do not reach each other{}", cluster_.describe(member->task),
                                fmt::join(others, ", "), whereabouts(*member)));
  }
  fail(fmt::format("{}: {}", fmt::join(texts, "; "), error), blamed);
  return true;
}

/// Those without which all others reach each other: again and again the one with the most cut links, of several the
/// last, but never the chief.
std::vector<Hub::Member*> Hub::least_reached() {
  std::map<Member*, std::set<Member*>> cut;
  for (Member& member : members_) cut[&member] = member.unreached;
  std::vector<Member*> found;
  while (true) {
    Member* worst = nullptr;
    for (std::size_t i = 1; i < members_.size(); ++i) {
      Member* const member = &members_[i];
      if (!cut[member].empty() && (worst == nullptr || cut[member].size() >= cut[worst].size())) worst = member;
    }
    if (worst == nullptr) return found;
    found.push_back(worst);
    for (Member* const other : cut[worst]) cut[other].erase(worst);
    cut[worst].clear();
  }
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
        fail(silence_of(member), {&member});
      }
      decide_stop();
    }
  }
}

}  // namespace mirrortrain::rpc
