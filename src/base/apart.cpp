#include "base/apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/signal_name.h"
#include "base/write_all.h"

namespace mirrortrain {
namespace {

[[noreturn]] void fail(const char* what) {
  throw SystemError(fmt::format("{}: {}", what, std::strerror(errno)), errno);
}

/// Bytes of address space that this process has, which what is forked from it shares.
std::uint64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void bound(int resource, std::uint64_t most) {
  const rlimit limit{most, most};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

/// What the process does before its work: its end is silent, leaves no file, and comes at last.
void prepare(std::uint64_t bytes) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT, SIGHUP})
    ::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDERR_FILENO);
  constexpr std::uint64_t kSpareSeconds = 30, kBytesPerSecond = 20'000'000, kSpareMemory = std::uint64_t{1} << 30;
  bound(RLIMIT_CORE, 0);
  bound(RLIMIT_CPU, kSpareSeconds + bytes / kBytesPerSecond);
  bound(RLIMIT_AS, address_space() + 4 * bytes + kSpareMemory);
  // Of what it writes, files in memory too: deflated bytes become at most 1,032 times as many.
  constexpr std::uint64_t kMostInflated = 1032, kSpareFile = std::uint64_t{64} << 20;
  bound(RLIMIT_FSIZE, kMostInflated * bytes + kSpareFile);
}

}  // namespace

MemoryFile::MemoryFile(const char* label) : descriptor_(::memfd_create(label, MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail("a file in memory cannot be made");
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

void MemoryFile::write(const void* bytes, std::size_t size) {
  if (!write_all(descriptor_, bytes, size)) fail("a file in memory cannot be written");
}

bool MemoryFile::read_at(std::uint64_t offset, void* bytes, std::size_t size) const {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::pread(descriptor_, at, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

std::uint64_t MemoryFile::size() const {
  struct stat of {};
  return ::fstat(descriptor_, &of) == 0 ? static_cast<std::uint64_t>(of.st_size) : 0;
}

std::string run_apart(std::uint64_t bytes, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) fail("no process could be started");
  if (child == 0) {
    prepare(bytes);
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("a process could not be waited for");
  }
  if (WIFSIGNALED(status)) return signal_name(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace mirrortrain
