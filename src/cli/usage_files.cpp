// Generates the man page and the shells' completions from the declarations of the commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "cli/usage.h"

namespace mirrortrain::cli {
namespace {

using Visit = std::function<void(const CommandText&)>;

/// Visits the commands that can be run, not those that only have subcommands.
void for_each_leaf(const CommandText& command, const Visit& visit) {
  if (command.commands.empty()) return visit(command);
  for (const CommandText& inner : command.commands) for_each_leaf(inner, visit);
}

/// Escapes text for roff, where characters at a line's start or after a backslash would be commands.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += "\\&";
      result += c;
    }
  }
  return result;
}

std::string roff_entry(const OptionText& option) {
  std::string label;
  for (const std::string& name : option.names)
    label += (label.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  if (!option.value.empty()) label += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", label, roff(option.help));
}

/// Escapes text within single quotes of a shell.
std::string in_quotes(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string words_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> words;
  for (const CommandText& command : commands) words.push_back(command.word());
  return fmt::format("{}", fmt::join(words, " "));
}

std::string flags_of(const CommandText& command) {
  std::string flags;
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) flags += (flags.empty() ? "" : " ") + name;
  }
  return flags;
}

/// Escapes brackets and colons, which would end a text in a zsh specification.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : in_quotes(text)) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string man_page(const CommandText& program, const std::string& version) {
  std::string page = fmt::format(
      ".TH MIRRORTRAIN 1 \"\" \"mirrortrain {0}\" \"User Commands\"\n.SH NAME\nmirrortrain \\- {1}\n.SH SYNOPSIS\n",
      version, roff(program.help.substr(0, program.help.find_last_not_of('.') + 1)));
  for_each_leaf(program,
                [&](const CommandText& command) { page += fmt::format(".B {}\n.br\n", roff(command.usage())); });
  page += ".SH COMMANDS\n";
  for_each_leaf(program, [&](const CommandText& command) {
    page += fmt::format(".SS {}\n{}\n", roff(command.usage()), roff(command.help));
    for (const OptionText& argument : command.arguments) page += roff_entry(argument);
    for (const OptionText& option : command.options) page += roff_entry(option);
    page += ".PP\n.EX\n";
    for (const std::string& example : command.examples) page += roff(example) + "\n";
    page += ".EE\n";
  });
  return page +
         ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nthe run failed; broken or missing data and weights included\n.TP\n2\n"
         "the command line or the configuration is wrong\n.TP\n3\nthe loss or a variable was NaN or "
         "infinite\n.TP\n130, 143\nstopped by "
         "SIGINT or SIGTERM after a checkpoint was saved; termination.exit_code may say another\n.SH "
         "ENVIRONMENT\n.TP\nNO_COLOR\nno colors, where it is set\n";
}

std::string bash_completion(const CommandText& program) {
  std::string cases;
  for_each_leaf(program, [&](const CommandText& command) {
    const std::string typed = command.name.substr(program.name.size() + 1);
    cases += fmt::format("    '{}') flags='{}' ;;\n", typed, flags_of(command));
  });
  std::string groups;
  for (const CommandText& command : program.commands) {
    if (command.commands.empty()) continue;
    groups +=
        fmt::format("    {}) [ $COMP_CWORD -eq 2 ] && words='{}' ;;\n", command.word(), words_of(command.commands));
  }
  return fmt::format(R"(# bash completion of mirrortrain
_mirrortrain() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words='' flags=''
  [ "$COMP_CWORD" -eq 1 ] && words='{}'
  case ${{COMP_WORDS[1]}} in
{}    *) ;;
  esac
  local typed
  for typed in "${{COMP_WORDS[1]}}" "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}"; do
    case $typed in
{}    *) ;;
    esac
  done
  [[ $word == -* ]] && words=$flags
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word") $(cd runs 2>/dev/null && compgen -d -- "$word"))
  fi
}}
complete -o filenames -F _mirrortrain mirrortrain
)",
                     words_of(program.commands), groups, cases);
}

std::string zsh_completion(const CommandText& program) {
  std::string cases;
  for_each_leaf(program, [&](const CommandText& command) {
    cases += fmt::format("    '{}')\n      _arguments", command.name.substr(program.name.size() + 1));
    for (const OptionText& option : command.options) {
      for (const std::string& name : option.names) {
        cases += fmt::format(" \\\n        '{}[{}]{}'", name, zsh_text(option.help),
                             option.value.empty() ? "" : fmt::format(":{}:_files", zsh_text(option.value)));
      }
    }
    cases += " \\\n        '*:file:_files' ;;\n";
  });
  std::string commands, groups;
  for (const CommandText& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.word(), zsh_text(command.help));
    if (command.commands.empty()) continue;
    groups += fmt::format(
        "  if [[ $words[2] == {0} ]]; then\n    if (( CURRENT == 3 )); then\n      compadd {1}\n      return\n    fi\n"
        "    command=\"{0} $words[3]\"\n    shift words\n    (( CURRENT-- ))\n  fi\n",
        command.word(), words_of(command.commands));
  }
  return fmt::format(R"(#compdef mirrortrain
_mirrortrain() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
{}  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_mirrortrain "$@"
)",
                     commands, groups, cases);
}

}  // namespace mirrortrain::cli
