#include "launch/supervisor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <utility>

#include "base/error.h"

namespace mirrortrain::launch {
namespace {

using Clock = std::chrono::steady_clock;

bool keeps_the_run(const RunningTask* task) { return task->command().keeps_the_run(); }
bool is_waited_for(const RunningTask* task) { return task->command().is_waited_for(); }

/// The failure of a task that may leave.
struct Departure {
  const RunningTask* task;
  Failure failure;
  Clock::time_point settled;  ///< from when on it is not a consequence of another task's failure
};

/// Tasks may learn of a task's failure, and end, before that task has ended.
constexpr std::chrono::seconds kSettle{2};

/// A chief on another host whose last output is at most this much older than the end of a task that calls it silent is
/// not silent: the connection between the two is cut, and the chief reports the task's silence at about the same time.
constexpr std::chrono::seconds kTogether{3};

/// How long to keep writing queued lines after a stopped run has ended.
constexpr std::chrono::seconds kWriteAfterStop{1};

class Supervisor {
 public:
  Supervisor(const std::vector<TaskCommand>& tasks, const Timeouts& timeouts, SignalQueue& signals,
             const Outputs& outputs);
  Outcome run();

 private:
  std::vector<RunningTask*> alive();
  std::vector<RunningTask*> to_be_ended();
  void wait();
  void pass_on_signals();
  void reap();
  void record(const RunningTask& task, int status);
  bool run_may_continue();
  bool is_chief_silent(Clock::time_point ended);
  void record_stalled(Failure failure);
  void fail(const Failure& failure);
  void find_first_failure();
  void continue_without_departed();
  bool start_again(const RunningTask& task);
  void wait_until_signal(int signal, double seconds);
  void end_the_rest();
  void write_the_rest();
  void send(int signal, const std::vector<RunningTask*>& to, const std::string& why);
  /// The exit code of tasks that the launcher's signal has stopped.
  int stop_code() const {
    return outcome_.stop_signal == SIGTERM ? timeouts_.sigterm_code : 128 + outcome_.stop_signal;
  }
  void say(const std::string& text) { outputs_.err.line("launch: ", text); }

  const Timeouts timeouts_;
  SignalQueue& signals_;
  const Outputs outputs_;
  std::list<RunningTask> tasks_;
  Outcome outcome_;
  bool stopped_ = false;           ///< a task ended with `fit`'s exit code for a stopped run
  bool stop_has_killed_ = false;   ///< or was killed by the signal: later failures are its consequence
  std::vector<Failure> failures_;  ///< in the order of their ends, without tasks that left
  std::list<Departure> departed_;
  std::optional<Clock::time_point> deadline_;  ///< when tasks that should have ended get a signal
  double patience_now_ = 0;                    ///< seconds from setting it until then
  int next_signal_ = SIGTERM;                  ///< the signal that they get
  bool has_signalled_ = false;                 ///< a task has got it
};

Supervisor::Supervisor(const std::vector<TaskCommand>& tasks, const Timeouts& timeouts, SignalQueue& signals,
                       const Outputs& outputs)
    : timeouts_(timeouts), signals_(signals), outputs_(outputs) {
  for (const TaskCommand& task : tasks) tasks_.emplace_back(task, static_cast<int>(tasks_.size()), outputs);
}

std::vector<RunningTask*> Supervisor::alive() {
  std::vector<RunningTask*> found;
  for (RunningTask& task : tasks_) {
    if (!task.has_ended()) found.push_back(&task);
  }
  return found;
}

/// All tasks once one has failed or a signal stops the run; those that the run does not wait for, once no others are
/// left.
std::vector<RunningTask*> Supervisor::to_be_ended() {
  std::vector<RunningTask*> found = alive();
  const bool is_ending = outcome_.first_failure || outcome_.stop_signal != 0;
  if (!is_ending && std::ranges::any_of(found, is_waited_for)) found.clear();
  return found;
}

Outcome Supervisor::run() {
  while (!alive().empty()) {
    wait();
    pass_on_signals();
    reap();
    continue_without_departed();
    end_the_rest();
  }
  write_the_rest();
  if (outcome_.first_failure) {
    outcome_.exit_code = outcome_.first_failure->exit_code();
  } else if (stopped_) {
    outcome_.exit_code = stop_code();
  }
  return outcome_;
}

/// Waits until there is something to do; reads and writes what is ready.
void Supervisor::wait() {
  std::vector<pollfd> events = {{signals_.descriptor(), POLLIN, 0}};
  for (const LineOutput* output : {&outputs_.out, &outputs_.err}) {
    events.push_back({output->is_empty() ? -1 : output->descriptor(), POLLOUT, 0});
  }
  const std::vector<RunningTask*> tasks = alive();
  // Tasks block while their lines are not read, except when the run is ending.
  const bool is_ending = outcome_.stop_signal != 0 || outcome_.first_failure;
  for (const RunningTask* task : tasks) {  // poll ignores -1
    events.push_back({outputs_.out.is_full() && !is_ending ? -1 : task->out(), POLLIN, 0});
    events.push_back({outputs_.err.is_full() && !is_ending ? -1 : task->err(), POLLIN, 0});
  }
  int timeout = -1;
  std::optional<Clock::time_point> next = deadline_;
  if (!departed_.empty()) next = std::min(next.value_or(Clock::time_point::max()), departed_.front().settled);
  if (next) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    timeout = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30));
  }
  if (::poll(events.data(), events.size(), timeout) <= 0) return;
  if (events[1].revents != 0) outputs_.out.write_some();
  if (events[2].revents != 0) outputs_.err.write_some();
  if (const std::string error = outputs_.out.take_error(); !error.empty()) {
    say(fmt::format("stdout: {}; what the tasks write there is not passed on any more", error));
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (events[3 + 2 * i].revents != 0) tasks[i]->read_out();
    if (events[4 + 2 * i].revents != 0) tasks[i]->read_err();
  }
}

void Supervisor::pass_on_signals() {
  for (const int came : signals_.take()) {
    const int signal = came == SIGHUP ? SIGTERM : came;
    const std::string name = signal_text(came);
    if (outcome_.stop_signal == 0) {
      outcome_.stop_signal = signal;
      const double continues = signal == SIGTERM ? timeouts_.after_sigterm : 0;
      if (!deadline_) wait_until_signal(SIGKILL, continues + timeouts_.grace_seconds + timeouts_.kill_seconds);
      say(fmt::format("{}: all tasks are asked to stop; a second one kills them", name));
      for (RunningTask* task : alive()) task->signal(signal);
    } else {
      stopped_ = true;
      stop_has_killed_ = true;
      send(SIGKILL, alive(), "second " + name);
    }
  }
}

void Supervisor::reap() {
  std::vector<std::pair<RunningTask*, int>> ended;
  for (RunningTask* task : alive()) {
    if (const std::optional<int> status = task->take_status()) ended.emplace_back(task, *status);
  }
  // Of tasks found together, a killed one counts as the first to fail: others fail because they lose it, not vice
  // versa.
  std::stable_partition(ended.begin(), ended.end(), [](const auto& one) { return WIFSIGNALED(one.second); });
  std::stable_partition(ended.begin(), ended.end(), [](const auto& one) { return !one.first->command().may_leave; });
  for (const auto& [task, status] : ended) record(*task, status);
}

void Supervisor::record(const RunningTask& task, int status) {
  if (status == 0) return;
  const Failure failure = task.failure(status);
  const int stop = outcome_.stop_signal;
  if (stop != 0 && (failure.exit_code() == stop_code() || failure.exit_code() == 128 + stop)) {
    stopped_ = true;
    if (WIFSIGNALED(status)) stop_has_killed_ = true;
    return;
  }
  if (stop_has_killed_) return;
  // Signalled tasks are expected to end by the signal, but not with another exit code.
  if (has_signalled_ && (WIFSIGNALED(status) || failure.exit_code() == 128 + SIGTERM)) return record_stalled(failure);
  if (outcome_.first_failure) {
    failures_.push_back(failure);
    return find_first_failure();
  }
  if (has_signalled_) return;  // a task that the run did not wait for
  if (task.command().may_leave && run_may_continue()) {
    departed_.push_back({&task, failure, Clock::now() + kSettle});
  } else if (task.command().may_leave) {
    say(fmt::format("{} {}, when the run was over", failure.task, failure.how()));
  } else {
    fail(failure);
  }
}

/// A task that had to be ended counts as failed if the others blame it for their own end.
void Supervisor::record_stalled(Failure failure) {
  const auto blames_it = [&](const Failure& other) { return other.blamed().task == failure.name; };
  const auto other = std::ranges::find_if(failures_, blames_it);
  if (other == failures_.end()) return;
  failure.stalled_says = other->task;
  failure.last_lines = other->last_lines;
  failures_.push_back(failure);
  find_first_failure();
}

void Supervisor::fail(const Failure& failure) {
  failures_ = {failure};
  outcome_.first_failure = failure;
  if (outcome_.stop_signal == 0) deadline_.reset();
  const std::size_t others = alive().size();
  if (others == 0) return;
  const Blame blamed = failure.blamed();
  say(fmt::format("{} {}{}; waiting up to {:g} s for the other{} to end", failure.task, failure.how(),
                  blamed.task.empty() ? "" : fmt::format(", as {} {}", blamed.task, blamed.what),
                  timeouts_.grace_seconds, others == 1 ? "" : "s"));
}

/// A task that ends because another has failed may end before that one does.
void Supervisor::find_first_failure() {
  auto first = failures_.begin();
  for (std::size_t i = 0; i < failures_.size(); ++i) {  // if they blame each other, the first to end counts
    const auto blamed = std::ranges::find(failures_, first->blamed().task, &Failure::name);
    if (blamed == failures_.end()) {
      outcome_.first_failure = *first;
      return;
    }
    first = blamed;
  }
}

/// Whether tasks that run the training loop are alive, and nothing else has failed.
bool Supervisor::run_may_continue() {
  const std::vector<RunningTask*> others = alive();
  return !outcome_.first_failure && std::ranges::any_of(others, keeps_the_run);
}

/// Whether the chief, which an ending task called silent, may be suspended or cut off.
bool Supervisor::is_chief_silent(Clock::time_point ended) {
  return std::ranges::none_of(alive(), [&](const RunningTask* task) {
    const bool is_here = task->command().host.empty();
    return keeps_the_run(task) && task->wrote() > (is_here ? ended : ended - kTogether);
  });
}

/// Restarts tasks that left, or reports that the others continue without them.
void Supervisor::continue_without_departed() {
  if (outcome_.first_failure) departed_.clear();  // consequences of the first failure
  const bool continues = run_may_continue();
  while (!departed_.empty() && (!continues || departed_.front().settled <= Clock::now())) {
    const auto [task, failure, settled] = std::move(departed_.front());
    departed_.pop_front();
    if (continues && outcome_.stop_signal == 0 && failure.blames_chief() && is_chief_silent(settled - kSettle)) {
      departed_.clear();
      return fail(failure);
    }
    const bool is_wanted = continues && outcome_.stop_signal == 0 && outcome_.restarts < timeouts_.restarts;
    const bool again = is_wanted && failure.is_worth_a_restart() && start_again(*task);
    say(fmt::format("{} {}; {}", failure.task, failure.how(),
                    again ? "it is started again" : "the others continue without it"));
  }
}

bool Supervisor::start_again(const RunningTask& task) {
  try {
    tasks_.emplace_back(task.command(), task.number(), outputs_);
  } catch (const Error& error) {
    say(fmt::format("{} cannot be started again: {}", task.name(), error.what()));
    return false;
  }
  ++outcome_.restarts;
  return true;
}

void Supervisor::wait_until_signal(int signal, double seconds) {
  next_signal_ = signal;
  patience_now_ = seconds;
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Sends the next signal to tasks that should have ended by now.
void Supervisor::end_the_rest() {
  const std::vector<RunningTask*> rest = to_be_ended();
  if (rest.empty()) return;
  if (!deadline_) wait_until_signal(SIGTERM, timeouts_.grace_seconds);
  if (Clock::now() < *deadline_) return;
  has_signalled_ = true;
  if (outcome_.stop_signal != 0) stopped_ = stop_has_killed_ = true;
  send(next_signal_, rest, fmt::format("after {:g} s", patience_now_));
  wait_until_signal(SIGKILL, timeouts_.kill_seconds);
}

/// Writes queued lines after all tasks have ended; a signal means that they will not be read.
void Supervisor::write_the_rest() {
  deadline_.reset();
  if (outcome_.stop_signal != 0) deadline_ = Clock::now() + kWriteAfterStop;
  while (!outputs_.out.is_empty() || !outputs_.err.is_empty()) {
    wait();
    if (!signals_.take().empty() || (deadline_ && Clock::now() >= *deadline_)) return;
  }
}

void Supervisor::send(int signal, const std::vector<RunningTask*>& to, const std::string& why) {
  std::vector<std::string> names;
  for (RunningTask* task : to) {
    names.push_back(task->name());
    task->signal(signal);
  }
  if (!names.empty()) say(fmt::format("{}: {} to {}", why, signal_text(signal), fmt::join(names, ", ")));
}

}  // namespace

Outcome supervise(const std::vector<TaskCommand>& tasks, const Timeouts& timeouts, SignalQueue& signals,
                  const Outputs& outputs) {
  return Supervisor(tasks, timeouts, signals, outputs).run();
}

}  // namespace mirrortrain::launch
