// Who may take part in a run, and when it begins.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "rpc/hub.h"
#include "rpc/messages.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {
namespace {

ToTask join_again() {
  ToTask message;
  message.set_again(true);
  return message;
}

/// A task's handshake, and how to name it in messages.
struct NamedHandshake {
  const Hello& hello;
  std::string name;
};

bool has(const Hello& hello, const std::string& key) {
  return std::ranges::any_of(hello.configuration(), [&](const Setting& setting) { return setting.key() == key; });
}

/// How a task's handshake differs from the chief's, with the first different key; empty if they are equal.
std::string mismatch(const NamedHandshake& task, const NamedHandshake& chief) {
  const Hello &own = task.hello, &reference = chief.hello;
  if (own.version() != reference.version()) {
    return fmt::format("{} runs mirrortrain {}, {} runs {}; use the same version everywhere", task.name, own.version(),
                       chief.name, reference.version());
  }
  const auto text = [](const std::string& value) { return value.empty() ? std::string("absent") : value; };
  const int common = std::min(own.configuration_size(), reference.configuration_size());
  for (int i = 0; i < common; ++i) {
    const Setting &here = own.configuration(i), &there = reference.configuration(i);
    if (here.key() == there.key() && here.value() == there.value()) continue;
    const bool is_same_key = here.key() == there.key(), is_chiefs = !is_same_key && !has(own, there.key());
    return fmt::format("{}: {} is {}, but {} on {}; give every task the same configuration", task.name,
                       is_chiefs ? there.key() : here.key(), is_chiefs ? "absent" : text(here.value()),
                       is_same_key || is_chiefs ? text(there.value()) : "absent", chief.name);
  }
  if (own.configuration_size() == reference.configuration_size()) return "";
  const bool more = own.configuration_size() > common;
  return fmt::format("{} has {}, which {} has not; give every task the same configuration",
                     more ? task.name : chief.name, (more ? own : reference).configuration(common).key(),
                     more ? chief.name : task.name);
}

}  // namespace

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

/// Only before the run has begun; later a wrongly started task does not affect the others.
void Hub::refuse_all_early(const std::string& reason) {
  if (welcomed_ || generation_ > 1) return spdlog::warn("refused a task: {}", reason);
  failure_ = reason;
  broadcast(refusal_of(reason));
}

}  // namespace mirrortrain::rpc
