#include "launch/shell.h"

#include <fmt/format.h>

namespace mirrortrain::launch {
namespace {

/// Becomes the task, with pid $$. Another shell waits for the names of signals to pass on, and for the end of the
/// connection. The task's pid ends with it, so `kill` fails once it is gone.
constexpr const char* kTask = R"({
  while read -r name <&3; do kill -s "$name" $$ || exit; done
  kill -s TERM $$ || exit
  for second in 1 2 3 4 5; do sleep 1; kill -s 0 $$ || exit; done
  kill -s KILL $$
} >/dev/null 2>&1 &
exec env "$@" </dev/null 3<&-)";

/// $1 is the folder, $2 the script above, and the rest its arguments; the token is stdin's first line. This shell keeps
/// running, so that a killed task can be distinguished from a lost connection: it exits with 128 + the signal.
constexpr const char* kHost = R"(cd "$1" || exit 2
IFS= read -r token
[ -z "$token" ] || export MIRRORTRAIN_TOKEN="$token"
script=$2
shift 2
sh -c "$script" mirrortrain "$@" 3<&0
exit $?)";

}  // namespace

std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text(1, '\'');
  for (const char character : word) {
    if (character == '\'') {
      text += "'\\''";
    } else {
      text += character;
    }
  }
  text += '\'';
  return text;
}

std::string quoted(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(quoted(word));
  return text;
}

std::vector<std::string> remote_argv(const RemoteCommand& command) {
  std::vector<std::string> words = {"sh", "-c", kHost, "mirrortrain", command.directory, kTask};
  words.insert(words.end(), command.variables.begin(), command.variables.end());
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  return {"/bin/sh", "-c", fmt::format("exec {} \"$@\"", command.ssh), "ssh", command.host, quoted(words)};
}

}  // namespace mirrortrain::launch
