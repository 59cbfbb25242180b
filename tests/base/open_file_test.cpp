#include "base/open_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

/// A process that holds a lease on a file, until somebody else opens it.
class LeaseHolder {
 public:
  explicit LeaseHolder(const std::string& file) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int descriptor = ::open(file.c_str(), O_RDWR);
      const char holds = ::fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0;
      if (::write(ends[1], &holds, 1) == 1 && holds) ::pause();  // SIGIO ends the process, and the lease with it
      std::_Exit(0);
    }
    ::close(ends[1]);
    char holds = 0;
    holds_ = ::read(ends[0], &holds, 1) == 1 && holds != 0;
    ::close(ends[0]);
  }
  ~LeaseHolder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  bool holds() const { return holds_; }

 private:
  pid_t process_ = -1;
  bool holds_ = false;
};

TEST_CASE("opening a file waits for a lease, and not for a pipe's writer") {
  const TemporaryFolder folder;
  const std::string file = folder / "file", pipe = folder / "pipe";
  ::close(::open(file.c_str(), O_WRONLY | O_CREAT, 0600));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  {
    const LeaseHolder holder(file);
    if (!holder.holds()) MESSAGE("no lease to be had on this file system");
    const int descriptor = open_to_read(file);
    CHECK(descriptor >= 0);
    ::close(descriptor);
  }
  const int of_pipe = open_to_read(pipe);
  CHECK(of_pipe >= 0);
  ::close(of_pipe);
  const int of_none = open_to_read(folder / "absent"), reason = errno;
  CHECK(of_none == -1);
  CHECK(reason == ENOENT);
}

}  // namespace
