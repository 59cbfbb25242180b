#include "launch/child_command.h"

#include <csignal>

#include "base/utf8.h"

namespace mirrortrain::launch {
namespace {

ProcessOptions options_of(const std::vector<std::string>& words, const MachinePart& part, ChildOutput output) {
  ProcessOptions options;
  options.argv = {"/proc/self/exe"};  // also where the file was replaced since this process started
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.cores = part.cores;
  options.shows_output = output == ChildOutput::kShown;
  if (options.shows_output) options.parent_death_signal = SIGTERM;
  if (!part.gpus.empty()) options.variables.push_back({"CUDA_VISIBLE_DEVICES", part.gpus});
  return options;
}

constexpr std::string_view kErrorPrefix = "error: ";

/// The error that ended it: the line that says so, else, of a list of errors in a configuration, the first.
std::string reason_of(const std::vector<std::string>& lines) {
  constexpr std::size_t kLongest = 500;
  for (const std::string& line : lines) {
    if (line.starts_with(kErrorPrefix)) return shortened(line.substr(kErrorPrefix.size()), kLongest);
  }
  return lines.empty() ? "" : shortened(lines.front(), kLongest);
}

}  // namespace

ChildCommand::ChildCommand(const std::vector<std::string>& words, const MachinePart& part, ChildOutput output)
    : process_(options_of(words, part, output)), out_(process_.out.get()), err_(process_.err.get()) {}

void ChildCommand::read_output() {
  out_.take_lines();
  out_.take_unfinished();
  for (const std::string& line : err_.take_lines()) take_error(line);
}

void ChildCommand::take_error(const std::string& line) {
  constexpr std::size_t kMostLines = 100;  // and what ends it, which comes last
  if (line.empty() || line.starts_with("warning: ")) return;
  if (errors_.size() < kMostLines || line.starts_with(kErrorPrefix)) errors_.push_back(line);
}

std::optional<ChildEnd> ChildCommand::take_end() {
  read_output();
  const std::optional<int> status = process_.take_status();
  if (!status) return std::nullopt;
  read_output();  // what it wrote since
  take_error(err_.take_unfinished());
  return ChildEnd{exit_code_of_status(*status), reason_of(errors_)};
}

}  // namespace mirrortrain::launch
