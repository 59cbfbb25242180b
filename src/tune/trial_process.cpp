#include "tune/trial_process.h"

#include <unistd.h>

#include <array>

#include "base/utf8.h"

namespace mirrortrain::tune {
namespace {

launch::ProcessOptions options_of(const std::vector<std::string>& words, const launch::MachinePart& part) {
  launch::ProcessOptions options;
  options.argv = {"/proc/self/exe"};  // also where the file was replaced since this process started
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.cores = part.cores;
  if (!part.gpus.empty()) options.variables.push_back({"CUDA_VISIBLE_DEVICES", part.gpus});
  return options;
}

/// Reads what there is, without waiting.
std::string available(const Descriptor& descriptor) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t count; (count = ::read(descriptor.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

constexpr std::string_view kError = "error: ";

/// The error that ended it: the line that says so, else, of a list of errors in a configuration, the first.
std::string reason_of(const std::vector<std::string>& lines) {
  constexpr std::size_t kLongest = 500;
  for (const std::string& line : lines) {
    if (line.starts_with(kError)) return shortened(line.substr(kError.size()), kLongest);
  }
  return lines.empty() ? "" : shortened(lines.front(), kLongest);
}

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& words, const launch::MachinePart& part)
    : process_(options_of(words, part)) {}

void TrialProcess::read_output() {
  available(process_.out);
  unfinished_ += available(process_.err);
  constexpr std::size_t kMostLines = 100;  // and what ends it, which comes last
  for (std::size_t end; (end = unfinished_.find('\n')) != std::string::npos; unfinished_.erase(0, end + 1)) {
    const std::string line = unfinished_.substr(0, end);
    if (line.empty() || line.starts_with("warning: ")) continue;
    if (errors_.size() < kMostLines || line.starts_with(kError)) errors_.push_back(line);
  }
}

std::optional<TrialEnd> TrialProcess::take_end() {
  read_output();
  const std::optional<int> status = process_.take_status();
  if (!status) return std::nullopt;
  read_output();  // what it wrote since
  if (!unfinished_.empty()) errors_.push_back(unfinished_);
  return TrialEnd{launch::exit_code_of_status(*status), reason_of(errors_)};
}

}  // namespace mirrortrain::tune
