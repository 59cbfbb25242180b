#include "rpc/hub.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "cluster/address.h"
#include "cluster/reachable_host.h"
#include "rpc/handshakes.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {
namespace {

ToTask refusal_of(const std::string& reason) {
  ToTask message;
  message.set_refusal(reason);
  return message;
}

ToTask is_over(const std::string& why) {
  ToTask message;
  message.set_over(why);
  return message;
}

ToTask join_again() {
  ToTask message;
  message.set_again(true);
  return message;
}

ToTask stop_at(int signal) {
  ToTask message;
  message.mutable_stop()->set_signal(signal);
  return message;
}

}  // namespace

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

/// nullopt if the task may take part.
std::optional<Hub::Refusal> Hub::refusal_for(const Hello& hello) {
  const Member* const member = member_named(hello.task());
  if (member == nullptr || hello.tasks() != static_cast<int>(members_.size())) {
    const auto tasks = [](std::size_t count) { return fmt::format("{} task{}", count, count == 1 ? "" : "s"); };
    const std::string task = shortened(hello.task());
    return Refusal{.message = refusal_of(fmt::format(
                       "{}: the chief's cluster ({}) has {}, {}'s has {}; give every task the same cluster", task,
                       cluster_.source, tasks(members_.size()), task, tasks(static_cast<std::size_t>(hello.tasks())))),
                   .is_of_cluster = true};
  }
  if (hello.generation() > generation_ && !welcomed_) {
    return Refusal{refusal_of(
        fmt::format("{} was started again: start every task again, with --resume", cluster_.describe(chief().task)))};
  }
  const bool is_connected = member->send && !member->gone;
  const bool replaces = timeouts_.elastic && is_connected && Clock::now() - member->heard > kSuspiciousSilence;
  if (regroups_ || hello.generation() > generation_ || replaces) return Refusal{join_again()};
  if (timeouts_.elastic && stop_signal_ > 0) return Refusal{is_over("the run is being stopped")};
  if (is_connected) {
    const std::string reason =
        fmt::format("{}: another process has joined as this task; give every process a task of its own", hello.task());
    spdlog::warn("refused a second process: {}", reason);
    return Refusal{refusal_of(reason)};
  }
  if (!failure_.empty()) return Refusal{refusal_of(failure_)};
  if (member == &chief()) return std::nullopt;  // the reference for the others
  const std::string reason =
      mismatch({hello, cluster_.describe(member->task)}, {reference_, cluster_.describe(chief().task)});
  if (reason.empty()) return std::nullopt;
  return Refusal{.message = refusal_of(reason), .is_of_cluster = true};
}

Hub::Session Hub::accept(const Hello& hello, Member& member, Send send) {
  if (&member == &chief()) reference_ = hello;
  member.send = std::move(send);
  ++member.session;
  member.heard = Clock::now();
  const bool comes_back = member.lost;  // whatever it was lost for may end this generation, too
  member.left = member.gone = member.lost = member.missed = false;
  member.left_early.reset();
  if (timeouts_.elastic && (welcomed_ || comes_back)) {
    member.late = true;
    member.late_since = Clock::now();
    const double longest = seconds(settling_time(member));
    const std::string when =
        longest > seconds(kSettled) ? fmt::format(", in {:.0f} s, as it was lost several times", longest) : "";
    spdlog::info("{} has joined and takes part after the next checkpoint{}", cluster_.describe(member.task), when);
  } else if (welcomed_) {
    member.joined = true;
    member.send(welcome());
    if (stop_signal_ != 0 && !stop_decided_) member.send(stop_at(stop_signal_));
  } else {
    member.joined = true;
    welcome_all();
  }
  changed_.notify_all();
  return {static_cast<int>(&member - members_.data()), member.session};
}

/// Welcomes all once every expected task has joined.
void Hub::welcome_all() {
  if (!std::ranges::all_of(members_, [](const Member& one) { return one.joined || one.lost || one.late; })) return;
  for (Member& member : members_) {
    member.gone = !member.joined && !member.late;
    member.heard = Clock::now();  // those that joined early may have been silent meanwhile
  }
  welcomed_ = true;
  broadcast(welcome());
}

ToTask Hub::welcome() const {
  ToTask message;
  message.mutable_welcome()->set_generation(generation_);
  for (const Member& member : members_) {
    if (!member.joined) message.mutable_welcome()->add_absent(member.task.text());
  }
  return message;
}

/// Gives up tasks that have not joined for regroup_seconds: in a later generation, or again in the first one.
void Hub::welcome_without_missing() {
  if (!timeouts_.elastic) return;
  for (Member& member : members_) {
    if (member.joined || member.lost || member.late) continue;
    const std::optional<Clock::time_point> since = generation_ > 1 ? begin_ : member.left_early;
    if (!since || seconds(Clock::now() - *since) < timeouts_.regroup_seconds) continue;
    spdlog::warn("{} has not joined {}within {:g} s; continuing without it", cluster_.describe(member.task),
                 generation_ > 1 ? "" : "again ", timeouts_.regroup_seconds);
    lose(member);
  }
  welcome_all();
}

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

/// Only before the run has begun; later a wrongly started task does not affect the others.
void Hub::refuse_all_early(const std::string& reason) {
  if (welcomed_ || generation_ > 1) return spdlog::warn("refused a task: {}", reason);
  failure_ = reason;
  broadcast(refusal_of(reason));
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
      if (&member == &chief()) tell_missed();
      decide_stop();
      changed_.notify_all();
      break;
    default: break;
  }
}

/// Called when no generation follows.
void Hub::end_late_members() {
  if (stop_signal_ == kRegroup || !failure_.empty()) return;
  for (Member& member : members_) {
    if (member.late && member.send) member.send(is_over("the run has ended"));
  }
}

/// The run continues without an evaluator, so this reports its loss; lost workers are reported by the dispatcher.
void Hub::miss(Member& member, const std::string& what) {
  if (member.task.job != Job::kEvaluator || member.missed || !failure_.empty()) return;
  member.missed = true;
  spdlog::warn("{}{}; the run continues without it, and it may be started again", cluster_.describe(member.task), what);
}

/// Called at the run's end.
void Hub::tell_missed() const {
  if (!failure_.empty()) return;
  for (const Member& member : members_) {
    if (!member.missed) continue;
    spdlog::warn("{} was lost and has not come back: it has not evaluated the last checkpoints",
                 cluster_.describe(member.task));
  }
}

/// Sends a value to every task that waits for it.
void Hub::send_value(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  ToTask message;
  message.mutable_value()->set_key(key);
  message.mutable_value()->set_value(found->second);
  for (Member& member : members_) {
    if (member.send && member.waits_for.erase(key) > 0) member.send(message);
  }
}

/// Sends the table to all ranks once it has the last one's share.
void Hub::take_share(int task, const Share& share) {
  const auto size = static_cast<std::size_t>(share.size()), rank = static_cast<std::size_t>(share.rank());
  Gathering& gathering = gatherings_[share.key()];
  if (gathering.ranks.empty() && size <= members_.size()) {
    gathering.ranks.resize(size);
    gathering.tables.resize(size);
  }
  if (size != gathering.ranks.size() || rank >= size) {
    return fail(
        fmt::format("{} is rank {} of {} in '{}', where others are of {}; all tasks need the same configuration",
                    cluster_.describe(members_[static_cast<std::size_t>(task)].task), rank, size, share.key(),
                    gathering.ranks.size()),
        {&members_[static_cast<std::size_t>(task)]});
  }
  if (gathering.ranks[rank].task < 0) ++gathering.count;
  gathering.ranks[rank] = {task, share.value()};
  for (const Part& part : share.parts()) {
    if (static_cast<std::size_t>(part.rank()) >= size) continue;
    Part& to = *gathering.tables[static_cast<std::size_t>(part.rank())].add_parts();
    to.set_rank(share.rank());
    to.set_value(part.value());
  }
  if (gathering.count < gathering.ranks.size()) return;
  const bool has_values = std::ranges::any_of(gathering.ranks, [](const auto& one) { return !one.value.empty(); });
  for (std::size_t to = 0; to < gathering.ranks.size(); ++to) {
    ToTask message;
    Table& table = *message.mutable_table();
    table = std::move(gathering.tables[to]);
    table.set_key(share.key());
    if (has_values) {
      for (const Gathering::Rank& from : gathering.ranks) table.add_values(from.value);
    }
    const Member& member = members_[static_cast<std::size_t>(gathering.ranks[to].task)];
    if (member.send) member.send(message);
  }
  gatherings_.erase(share.key());
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
