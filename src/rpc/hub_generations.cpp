// Tasks that are lost and come back: a generation of the run ends so that the next one has them.
#include <algorithm>

#include "rpc/hub.h"
#include "rpc/messages.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {

void Hub::lose(Member& member) {
  if (!member.lost) losses_.push_back({member.task, Clock::now()});
  member.lost = true;
}

/// Within an hour.
std::ptrdiff_t Hub::recent_losses(const Member& member) const {
  const auto recent = Clock::now() - std::chrono::hours(1);
  return std::ranges::count_if(losses_,
                               [&](const Loss& loss) { return loss.task == member.task && loss.when > recent; });
}

/// Twice as long for each loss within an hour but the first: a task that dies whenever it takes part, or whose network
/// to another one is cut, must not keep all others from training.
Hub::Clock::duration Hub::settling_time(const Member& member) const {
  const Clock::duration doubled = kSettled * (1 << std::clamp<std::ptrdiff_t>(recent_losses(member) - 1, 0, 10));
  return std::min(doubled, Clock::duration(kLongestSettled));
}

/// Ends the generation once a late task has stayed.
void Hub::regroup_with_late_members() {
  const auto now = Clock::now();
  const auto has_settled = [&](const Member& member) {
    return member.late && member.send && now - member.late_since >= settling_time(member) &&
           now - member.heard < kSuspiciousSilence;
  };
  if (!failure_.empty() || chief().left || std::ranges::none_of(members_, has_settled)) return;
  begin_stop(kRegroup);
  decide_stop();
}

/// Called when no generation follows.
void Hub::end_late_members() {
  if (stop_signal_ == kRegroup || !failure_.empty()) return;
  for (Member& member : members_) {
    if (member.late && member.send) member.send(is_over("the run has ended"));
  }
}

}  // namespace mirrortrain::rpc
