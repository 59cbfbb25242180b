#include "launch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "cluster/token.h"
#include "launch/cores.h"

namespace mirrortrain::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// This process's environment with the task's own variables.
std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) result.emplace_back(*entry);
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(result, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    result.push_back(fmt::format("{}={}", name, value));
  };
  if (options.tf_config) {
    set("TF_CONFIG", *options.tf_config);
    set(std::string(kLaunchedVariable), "1");
  }
  for (const Variable& variable : options.variables) set(variable.name, variable.value);
  if (!options.token.empty() && options.signal_path == SignalPath::kKill) set(kTokenVariable, options.token);
  return result;
}

/// The child's data between fork and exec, where nothing may be allocated.
struct Start {
  char* const* argv;
  char* const* environment;
  const cpu_set_t* cores;  ///< null: unchanged
  int in, out, err;
  bool has_own_session;
  int parent_death_signal;
  int failure;  ///< closed by a successful exec; otherwise errno is written to it
  pid_t parent;
};

[[noreturn]] void become(const Start& start) {
  if (start.has_own_session) ::setsid();
  ::prctl(PR_SET_PDEATHSIG, start.parent_death_signal);
  if (::getppid() != start.parent) ::_exit(1);  // the parent died before the prctl
  ::dup2(start.in, STDIN_FILENO);
  ::dup2(start.out, STDOUT_FILENO);
  ::dup2(start.err, STDERR_FILENO);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);  // also if ignored here
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (start.cores == nullptr || ::sched_setaffinity(0, sizeof(cpu_set_t), start.cores) == 0) {
    ::execve(start.argv[0], start.argv, start.environment);
  }
  const int error = errno;
  if (::write(start.failure, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

int exit_code_of_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

Process::Process(const ProcessOptions& options) : has_own_session_(!options.shows_output) {
  std::vector<std::string> words = options.argv, variables = environment_of(options);
  const std::vector<char*> argv = pointers(words), environment = pointers(variables);
  const cpu_set_t cores = core_set(options.cores);
  Pipe failure;
  std::optional<Pipe> output, errors;
  if (!options.shows_output) {
    output.emplace();
    errors.emplace();
  }
  Descriptor input;
  if (options.signal_path == SignalPath::kStdin) {
    Pipe names;
    input = std::move(names.read);
    in_ = std::move(names.write);
    make_nonblocking(in_);
    write_line(options.token);
  } else {
    input = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  const Start start{argv.data(),
                    environment.data(),
                    options.cores.empty() ? nullptr : &cores,
                    input.get(),
                    output ? output->write.get() : STDOUT_FILENO,
                    errors ? errors->write.get() : STDERR_FILENO,
                    has_own_session_,
                    options.parent_death_signal,
                    failure.write.get(),
                    ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) become(start);
  int error = errno;
  failure.write.close();
  if (pid_ < 0 || ::read(failure.read.get(), &error, sizeof error) == sizeof error) {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    throw Error(fmt::format("cannot start {}: {}", options.argv[0], ::strerror(error)));
  }
  if (!output) return;
  out = std::move(output->read);
  err = std::move(errors->read);
  make_nonblocking(out);
  make_nonblocking(err);
}

Process::~Process() {
  if (pid_ < 0) return;
  send(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::send(int number) const { ::kill(has_own_session_ ? -pid_ : pid_, number); }

void Process::signal(int number) const {
  if (pid_ < 0) return;
  if (!in_.is_open() || number == SIGKILL) {
    send(number);
    return;
  }
  write_line(::sigabbrev_np(number));
}

/// If the pipe has no reader any more, the process is about to end.
void Process::write_line(std::string line) const {
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(in_.get(), line.data(), line.size());
}

std::optional<int> Process::take_status() {
  siginfo_t info{};
  // Not reaped yet, so that its pid cannot be reused when its group is killed.
  if (pid_ < 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  if (has_own_session_) send(SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

}  // namespace mirrortrain::launch
