#include "cli/here.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/descriptor.h"
#include "cli/logging.h"
#include "cli/run_program.h"

namespace mirrortrain::testing {
namespace {

/// Sends what is written to a standard stream to a file while it lives.
class Redirected {
 public:
  Redirected(std::FILE* stream, const fs::path& file) : stream_(stream), before_(::dup(::fileno(stream))) {
    std::fflush(stream_);
    const Descriptor to(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(::dup2(to.get(), ::fileno(stream_)) >= 0);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() {
    std::fflush(stream_);
    ::dup2(before_.get(), ::fileno(stream_));
  }

 private:
  std::FILE* stream_;
  Descriptor before_;
};

}  // namespace

Outcome run_here(const TemporaryFolder& folder, std::vector<std::string> words) {
  static const bool logs = (cli::set_up_logging(), true);
  static_cast<void>(logs);
  words.insert(words.begin(), "mirrortrain");
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const fs::path before = fs::current_path(), out = folder / "stdout.txt", err = folder / "stderr.txt";
  Outcome outcome;
  {
    const Redirected to_out(stdout, out), to_err(stderr, err);
    fs::current_path(folder.path());
    outcome.exit_code = cli::run_program(static_cast<int>(arguments.size()), arguments.data());
    fs::current_path(before);
  }
  outcome.out = read_text_file(out);
  outcome.err = read_text_file(err);
  return outcome;
}

}  // namespace mirrortrain::testing
