#include "rpc/member.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {
namespace {

/// How long to wait for the chief's verdict on a failure.
constexpr std::chrono::milliseconds kVerdict{3000};

}  // namespace

Member::Member(const ClusterSpec& cluster, Send send, const Timeouts& timeouts)
    : cluster_(cluster), send_(std::move(send)), timeouts_(timeouts), heard_(Clock::now()), heart_([this] {
        beat();
      }) {}

void Member::stop_heart() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (heart_.joinable()) heart_.join();
}

void Member::send_handshake(const Handshake& handshake, int generation) {
  FromTask message;
  Hello& hello = *message.mutable_hello();
  hello.set_task(cluster_.task.text());
  hello.set_tasks(static_cast<int>(cluster_.tasks().size()));
  hello.set_version(handshake.version);
  hello.set_generation(generation);
  for (const auto& [key, value] : handshake.configuration) {
    Setting& setting = *hello.add_configuration();
    setting.set_key(key);
    setting.set_value(value);
  }
  send_(message);
  const std::scoped_lock lock(mutex_);
  heard_ = Clock::now();
  introduced_ = true;
}

void Member::wait_for_welcome(double seconds) {
  std::unique_lock lock(mutex_);
  const auto decided = [this] {
    return welcomed_ || again_ || !refusal_.empty() || !over_.empty() || !failure_.empty();
  };
  if (seconds <= 0) {
    changed_.wait(lock, decided);
  } else if (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), decided)) {
    throw Error(fmt::format("not every task of the cluster ({}) has joined within {:g} s", cluster_.source, seconds));
  }
  if (!refusal_.empty()) throw UsageError(refusal_);
  if (!over_.empty()) throw RunIsOver(over_);
  if (again_) throw JoinAgain();
  if (!welcomed_) throw Error(failure_);
}

void Member::say_goodbye() {
  FromTask message;
  message.set_goodbye(true);
  send_(message);
}

/// Sends heartbeats with this task's progress.
void Member::beat() {
  std::unique_lock lock(mutex_);
  for (auto last = Clock::now(); !changed_.wait_for(lock, kHeartbeat, [this] { return is_over_; });) {
    const auto now = Clock::now();
    if (const auto paused = now - last - kHeartbeat; paused > kHeartbeat) heard_ += paused;  // this process was stopped
    last = now;
    if (!introduced_) continue;
    FromTask message;
    Progress& progress = *message.mutable_progress();
    progress.set_step(step_);
    progress.set_operations(operations_);
    progress.set_operation(std::string(operation_));
    const std::string silence = timeouts_.silence_seconds > 0 ? silence_of_chief(timeouts_.silence_seconds) : "";
    lock.unlock();
    send_(message);  // before the welcome too: others may start long after this task
    if (!silence.empty()) learn_failure(silence, nullptr, true);
    lock.lock();
  }
}

void Member::handle_message(const ToTask& message) {
  std::unique_lock lock(mutex_);
  heard_ = Clock::now();
  switch (message.what_case()) {
    case ToTask::kWelcome: take_welcome(message.welcome()); break;
    case ToTask::kAgain: again_ = true; break;
    case ToTask::kRefusal:
      if (refusal_.empty()) refusal_ = message.refusal();
      break;
    case ToTask::kOver: over_ = message.over(); break;
    case ToTask::kValue: values_[message.value().key()] = message.value().value(); break;
    case ToTask::kTable: tables_[message.table().key()] = message.table(); break;
    case ToTask::kFailure: lock.unlock(); return learn_failure(message.failure().reason(), &message.failure());
    case ToTask::kStop: {
      stop_signal_ = message.stop().signal();
      if (message.stop().after_step() > 0) {
        stop_after_ = message.stop().after_step();
        break;
      }
      holds_ = true;
      FromTask accepted;
      accepted.set_stop_accepted(last_step_);
      lock.unlock();
      send_(accepted);
      lock.lock();
      break;
    }
    default: return;
  }
  changed_.notify_all();
}

void Member::take_welcome(const Welcome& welcome) {
  generation_ = welcome.generation();
  cluster_.absent.clear();
  for (const Task& task : cluster_.tasks()) {
    if (std::ranges::count(welcome.absent(), task.text()) > 0) cluster_.absent.push_back(task);
  }
  welcomed_ = true;
}

void Member::lose_chief(std::string_view why) {
  bool was_silent = false;
  if (timeouts_.elastic) {  // it may just be switching generations
    const std::scoped_lock lock(mutex_);
    again_ = !welcomed_;
    changed_.notify_all();
    if (again_) return;
    // Cut off: the chief gave up the connection first, and refuses what belongs to it now. A chief that dies is heard
    // until then.
    was_silent = !silence_of_chief(seconds(kSuspiciousSilence)).empty();
  }
  learn_failure(fmt::format("{}{}", cluster_.describe_chief(), why), nullptr, was_silent);
}

void Member::learn_failure(const std::string& reason, const Failure* from_chief, bool is_silence) {
  const std::scoped_lock calling(callback_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    if (is_over_ || !failure_.empty()) return;
    failure_ = with_own_place(reason);
    if (from_chief != nullptr) {
      regroups_ = from_chief->regroups();
      failed_exit_code_ = from_chief->exit_code();
      is_lost_itself_ = std::ranges::count(from_chief->tasks(), cluster_.task.text()) > 0;
    } else {
      is_cut_off_ = regroups_ = is_silence && timeouts_.elastic && welcomed_;
    }
  }
  changed_.notify_all();
  if (on_failure_) on_failure_(failure_);
}

/// Tasks train synchronously, so this task waits where the other one is missing.
std::string Member::with_own_place(const std::string& reason) const {
  if (step_ == 0) return reason;
  const std::string place = operation_.empty() ? "" : fmt::format(", in {}", operation_);
  return fmt::format("{}; {} was in step {}{}", reason, cluster_.task.text(), step_, place);
}

void Member::put(const std::string& key, const std::string& value) {
  FromTask message;
  message.mutable_put()->set_key(key);
  message.mutable_put()->set_value(value);
  send_(message);
}

/// Sends a message, and returns, with the mutex held, when the chief's answer is in `answers` under this key. Throws
/// Error if the run fails meanwhile.
template <class Answers>
std::unique_lock<std::mutex> Member::ask(const FromTask& message, const std::string& key, Answers& answers) {
  {
    const std::scoped_lock lock(mutex_);
    answers.erase(key);
  }
  send_(message);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answers.contains(key) || !failure_.empty(); });
  if (!answers.contains(key)) throw Error(failure_);
  return lock;
}

std::string Member::get(const std::string& key) {
  FromTask message;
  message.set_get(key);
  const auto lock = ask(message, key, values_);
  return values_.at(key);
}

std::vector<std::string> Member::gather(const std::string& key, int rank, int size,
                                        std::span<const std::string> values) {
  FromTask message;
  Share& share = *message.mutable_share();
  share.set_key(key);
  share.set_rank(rank);
  share.set_size(size);
  if (values.size() == 1) {
    share.set_value(values[0]);
  } else {
    for (int other = 0; other < size; ++other) {
      const std::string& value = values[static_cast<std::size_t>(other)];
      if (value.empty()) continue;
      Part& part = *share.add_parts();
      part.set_rank(other);
      part.set_value(value);
    }
  }
  const auto lock = ask(message, key, tables_);
  const Table table = std::move(tables_.extract(key).mapped());
  std::vector<std::string> gathered(table.values().begin(), table.values().end());
  gathered.resize(static_cast<std::size_t>(size));
  for (const Part& part : table.parts()) gathered.at(static_cast<std::size_t>(part.rank())) = part.value();
  return gathered;
}

void Member::fail(const std::string& reason, int exit_code) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) return;  // the others know already
    failure_ = reason;
  }
  changed_.notify_all();
  FromTask message;
  message.mutable_failure()->set_reason(reason);
  message.mutable_failure()->set_exit_code(exit_code);
  send_(message);
}

std::string Member::silence_of_chief(double longest_seconds) const {
  const double silent = std::chrono::duration<double>(Clock::now() - heard_).count();
  if (cluster_.is_chief() || silent < longest_seconds) return "";
  return fmt::format("{}{} for {:.0f} s", cluster_.describe_chief(), kIsSilent, silent);
}

std::string Member::explain(const std::string& error, std::span<const Task> unreached) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) return failure_;
  }
  FromTask message;
  message.mutable_suspicion()->set_error(error);
  for (const Task& task : unreached) message.mutable_suspicion()->add_unreached(task.text());
  send_(message);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kVerdict, [this] { return !failure_.empty(); });
  if (failure_.empty()) {
    const std::string silence = silence_of_chief(seconds(kSuspiciousSilence));
    if (silence.empty()) return with_own_place(error);
    failure_ = with_own_place(silence);
    is_cut_off_ = regroups_ = timeouts_.elastic && welcomed_;
  }
  return failure_;
}

bool Member::regroups() const {
  const std::scoped_lock lock(mutex_);
  return regroups_;
}

bool Member::is_cut_off() const {
  const std::scoped_lock lock(mutex_);
  return is_cut_off_;
}

bool Member::is_lost_itself() const {
  const std::scoped_lock lock(mutex_);
  return is_lost_itself_;
}

int Member::failed_exit_code() const {
  const std::scoped_lock lock(mutex_);
  return failed_exit_code_;
}

std::string Member::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void Member::on_failure(std::function<void(const std::string&)> callback) {
  const std::scoped_lock calling(callback_mutex_);
  on_failure_ = std::move(callback);
  if (const std::string reason = failure(); on_failure_ && !reason.empty()) on_failure_(reason);
}

void Member::begin_step(std::int64_t step) {
  const std::scoped_lock lock(mutex_);
  step_ = step;
}

void Member::begin_operation(std::string_view what) {
  const std::scoped_lock lock(mutex_);
  operation_ = what;
}

void Member::end_operation() {
  const std::scoped_lock lock(mutex_);
  operation_ = {};
  ++operations_;
}

int Member::agree_to_stop(std::int64_t step, int own) {
  std::unique_lock lock(mutex_);
  if (own != 0 && !asked_to_stop_ && stop_signal_ == 0) {
    asked_to_stop_ = true;
    lock.unlock();
    FromTask message;
    message.set_stop_request(own);
    send_(message);
    lock.lock();
  }
  last_step_ = step;
  // A task pauses from reporting its step until the decision: otherwise it might already have passed that step.
  changed_.wait(lock, [this] { return !holds_ || stop_after_ || !failure_.empty(); });
  return stop_after_ && step >= *stop_after_ ? stop_signal_ : 0;
}

}  // namespace mirrortrain::rpc
