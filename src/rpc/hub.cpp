#include "rpc/hub.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "cluster/address.h"
#include "cluster/reachable_host.h"
#include "rpc/messages.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {

Hub::Hub(const ClusterSpec& cluster, const Timeouts& timeouts, const Generation& generation)
    : cluster_(cluster),
      timeouts_(timeouts),
      generation_(generation.number),
      loopback_(loopback_of_name(Address::of(cluster.address(cluster.chief_task())).host)),
      losses_(generation.losses) {
  members_.push_back({.task = cluster_.chief_task()});
  for (const Task& task : cluster_.tasks()) {
    if (task != members_[0].task) members_.push_back({.task = task});
  }
  for (Member& member : members_) {
    member.heard = begin_;
    member.lost = std::ranges::count(generation.lost, member.task) > 0;
  }
  watcher_ = std::thread([this] { watch(); });
}

Hub::~Hub() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

Hub::Session Hub::connect(const Hello& hello, Send send) {
  const std::scoped_lock lock(mutex_);
  if (const auto refusal = refusal_for(hello)) {
    send(refusal->message);
    if (refusal->is_of_cluster) refuse_all_early(refusal->message.refusal());
    return {};
  }
  return accept(hello, *member_named(hello.task()), std::move(send));
}

Hub::Member* Hub::member_named(const std::string& task) {
  const auto found = std::ranges::find_if(members_, [&](const Member& one) { return one.task.text() == task; });
  return found == members_.end() ? nullptr : &*found;
}

std::vector<Loss> Hub::losses() const {
  const std::scoped_lock lock(mutex_);
  return losses_;
}

std::vector<Task> Hub::lost() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Task> tasks;
  for (const Member& member : members_) {
    if (member.lost) tasks.push_back(member.task);
  }
  return tasks;
}

void Hub::handle_message(const Session& session, const FromTask& message) {
  const std::scoped_lock lock(mutex_);
  const int task = session.task;
  Member& member = members_[static_cast<std::size_t>(task)];
  if (session.number != member.session) return;
  member.heard = Clock::now();
  switch (message.what_case()) {
    case FromTask::kProgress: member.progress = message.progress(); break;
    case FromTask::kPut:
      values_[message.put().key()] = message.put().value();
      send_value(message.put().key());
      break;
    case FromTask::kGet:
      member.waits_for.insert(message.get());
      send_value(message.get());
      break;
    case FromTask::kShare: take_share(task, message.share()); break;
    case FromTask::kFailure:
      member.left = true;
      if (may_leave(member)) miss(member, fmt::format("{}: {}", kHasFailed, message.failure().reason()));
      if (may_leave(member) || !failure_.empty()) break;
      failed_exit_code_ = message.failure().exit_code();
      fail(fmt::format("{}{}: {}", cluster_.describe(member.task), kHasFailed, message.failure().reason()), {&member},
           task);
      break;
    case FromTask::kSuspicion: take_suspicion(task, message.suspicion()); break;
    case FromTask::kStopRequest: begin_stop(message.stop_request()); break;
    case FromTask::kStopAccepted:
      member.stop_step = message.stop_accepted();
      decide_stop();
      break;
    case FromTask::kGoodbye:
      member.left = true;
      member.lost = member.late || (member.lost && !failure_.empty());  // the next generation does without it
      if (&member == &chief()) end_late_members();
      if (&member == &chief()) report_missed();
      decide_stop();
      changed_.notify_all();
      break;
    default: break;
  }
}

/// The run continues without an evaluator, so this reports its loss; lost workers are reported by the dispatcher.
void Hub::miss(Member& member, const std::string& what) {
  if (member.task.job != Job::kEvaluator || member.missed || !failure_.empty()) return;
  member.missed = true;
  spdlog::warn("{}{}; the run continues without it, and it may be started again", cluster_.describe(member.task), what);
}

/// Called at the run's end.
void Hub::report_missed() const {
  if (!failure_.empty()) return;
  for (const Member& member : members_) {
    if (!member.missed) continue;
    spdlog::warn("{} was lost and has not come back: it has not evaluated the last checkpoints",
                 cluster_.describe(member.task));
  }
}

/// Asks the synchronously training tasks for their steps; they pause there until the decision.
void Hub::begin_stop(int signal) {
  if (stop_signal_ != 0) return;
  stop_signal_ = signal;
  broadcast(stop_at(signal));
}

/// Decides to stop after the step that follows the latest reported one.
void Hub::decide_stop() {
  if (stop_signal_ == 0 || stop_decided_) return;
  std::int64_t last = -1;
  for (const Member& member : members_) {
    if (!member.takes_part()) continue;
    if (member.stop_step < 0) return;
    last = std::max(last, member.stop_step);
  }
  stop_decided_ = true;
  ToTask message;
  message.mutable_stop()->set_signal(stop_signal_);
  message.mutable_stop()->set_after_step(last + 1);
  broadcast(message);
}

void Hub::disconnect(const Session& session) {
  const std::scoped_lock lock(mutex_);
  const int task = session.task;
  Member& member = members_[static_cast<std::size_t>(task)];
  if (session.number != member.session) return;
  member.send = nullptr;
  changed_.notify_all();
  if (member.late) member.lost = true;  // it only waited for the next generation
  if (member.left || member.late) return;
  member.gone = true;
  if (!welcomed_) {  // it may be restarted
    member.joined = member.gone = false;
    member.left_early = Clock::now();
    const std::string until = timeouts_.elastic && &member != &chief()
                                  ? fmt::format("; the run begins without it in {:g} s", timeouts_.regroup_seconds)
                                  : "";
    spdlog::warn("{} left before every task had joined{}", cluster_.describe(member.task), until);
    return;
  }
  if (may_leave(member)) {
    miss(member, std::string(kHasEnded));
    return decide_stop();
  }
  lose(member);
  // Its step is omitted: the others know it better than its last heartbeat.
  fail(fmt::format("{}{}", cluster_.describe(member.task), kHasEnded), {&member}, task);
}

bool Hub::may_leave(const Member& member) const { return std::ranges::count(timeouts_.may_leave, member.task.job) > 0; }

void Hub::fail(const std::string& reason, const std::vector<Member*>& blamed, int except) {
  if (!failure_.empty()) return;
  failure_ = reason;
  regroups_ = timeouts_.elastic && welcomed_ && std::ranges::count(blamed, &chief()) == 0;
  for (Member* const member : blamed) lose(*member);
  ToTask message;
  message.mutable_failure()->set_reason(reason);
  message.mutable_failure()->set_regroups(regroups_);
  message.mutable_failure()->set_exit_code(failed_exit_code_);
  for (const Member* const member : blamed) message.mutable_failure()->add_tasks(member->task.text());
  broadcast(message, except);
  changed_.notify_all();
}

void Hub::broadcast(const ToTask& message, int except) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].send && !members_[i].late && static_cast<int>(i) != except) members_[i].send(message);
  }
}

void Hub::wait_for_goodbyes(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [this] {
    return std::all_of(members_.begin() + 1, members_.end(),
                       [](const Member& member) { return !member.takes_part() || !member.send; });
  });
}

}  // namespace mirrortrain::rpc
