#include "train/checkpoint/run_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string host_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

[[noreturn]] void fail(const fs::path& path, int reason) {
  throw SystemError(fmt::format("cannot lock {}: {}", path.string(), std::generic_category().message(reason)), reason);
}

/// The file's information on the holder; an empty object if there is none.
Json holder_in(const fs::path& path) {
  try {
    Json holder = parse_json_if_valid<Json>(read_text_file(path));
    return holder.is_object() ? holder : Json::object();
  } catch (const Error&) {
    return Json::object();
  }
}

std::string text_in(const Json& holder, const char* key) {
  const auto found = holder.find(key);
  return found != holder.end() && found->is_string() ? found->get<std::string>() : "?";
}

[[noreturn]] void refuse(const fs::path& path, const Json& holder, bool has_locks) {
  const fs::path folder = path.parent_path();
  if (!holder.contains("pid")) {
    throw UsageError(
        fmt::format("{}: another process trains in this run folder; wait for it or stop it", folder.string()));
  }
  // Without locks, another process may have reused the pid of one that is gone.
  const std::string remedy = has_locks ? "" : fmt::format("; where it is gone, remove {}", path.string());
  throw UsageError(fmt::format("{}: process {} on {} has trained in this run folder since {}; wait for it or stop it{}",
                               folder.string(), json_text(holder["pid"]), text_in(holder, "host"),
                               text_in(holder, "since"), remedy));
}

/// Whether the process named in the file may still be alive.
bool may_live(const Json& holder) {
  if (!holder.contains("pid") || !holder["pid"].is_number_integer()) return false;
  if (text_in(holder, "host") != host_name()) return true;
  return ::kill(holder["pid"].get<pid_t>(), 0) == 0 || errno == EPERM;
}

void write_holder(int descriptor, const fs::path& path) {
  const Json holder = {{"pid", ::getpid()},
                       {"host", host_name()},
                       {"since", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))}};
  const std::string text = json_text(holder) + "\n";
  if (::ftruncate(descriptor, 0) != 0 || ::write(descriptor, text.data(), text.size()) < 0) fail(path, errno);
}

/// A holder that was killed leaves the lock for a moment to a process that it was just starting, which has not yet
/// closed its copies of the holder's files.
constexpr int kMostWaits = 100;
constexpr std::chrono::milliseconds kWait{20};

}  // namespace

RunLock::RunLock(const fs::path& run_folder) : path_(run_folder / kName) {
  for (int waits = 0;; ++waits) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail(path_, errno);
    const int reason = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    const bool has_locks = reason == 0 || reason == EWOULDBLOCK;
    const Json holder = reason == 0 ? Json::object() : holder_in(path_);
    if (reason == EWOULDBLOCK || (!has_locks && may_live(holder))) {
      ::close(std::exchange(descriptor_, -1));
      if (may_live(holder) || waits == kMostWaits) refuse(path_, holder, has_locks);
      std::this_thread::sleep_for(kWait);
      continue;
    }
    if (is_named(descriptor_, path_)) break;  // else its holder removed it between opening and locking
    ::close(std::exchange(descriptor_, -1));
  }
  try {
    write_holder(descriptor_, path_);
  } catch (...) {
    release();
    throw;
  }
}

RunLock::RunLock(RunLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  release();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

RunLock::~RunLock() { release(); }

bool RunLock::is_lost() const {
  return descriptor_ >= 0 && !is_named(descriptor_, path_) && fs::exists(path_.parent_path());
}

void RunLock::require_held() const {
  if (!is_lost()) return;
  const Json holder = holder_in(path_);
  const std::string found = holder.contains("pid") ? fmt::format("process {} on {} holds it now",
                                                                 json_text(holder["pid"]), text_in(holder, "host"))
                                                   : "another process may have trained here since";
  throw Error(
      fmt::format("{} was removed or replaced while this process trained in the folder, and {}; nothing more is "
                  "saved here. One process at a time can train in a run folder: leave the file to the program",
                  path_.string(), found));
}

void RunLock::release() {
  if (descriptor_ < 0) return;
  if (is_named(descriptor_, path_)) ::unlink(path_.c_str());  // not another run's, if the folder was moved
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace mirrortrain
