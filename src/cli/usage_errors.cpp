#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/usage.h"
#include "config/document.h"
#include "config/scalar.h"
#include "train/configuration/configuration.h"

namespace mirrortrain::cli {
namespace {

/// The command that was typed, with the names of its parents.
struct Typed {
  const CLI::App* command;
  std::string above;
};

Typed typed_command(const CLI::App& app) {
  Typed typed{&app, ""};
  while (!typed.command->get_subcommands().empty()) {
    typed.above += (typed.above.empty() ? "" : " ") + typed.command->get_name();
    typed.command = typed.command->get_subcommands().front();
  }
  return typed;
}

bool is_count(std::string_view text) {
  return !text.empty() && text.size() < 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "[cuda:0]" for `--device gpu`, "[cuda:0,cuda:1]" for `--gpus 2`; "" if no devices are meant.
std::string devices_meant(const std::string& name, const std::string& given) {
  std::vector<std::string> devices;
  if (name.ends_with('s') && is_count(given)) {
    for (int i = 0; i < std::stoi(given); ++i) devices.push_back(fmt::format("cuda:{}", i));
  } else {
    devices.push_back(config::Codec<DeviceId>::meant(config::Value::scalar(given, true)));
  }
  if (devices.empty() || devices[0].empty()) return "";
  return fmt::format("[{}]", fmt::join(devices, ","));
}

/// Whether `key` accepts the value.
bool is_taken(const std::string& key, const std::string& value) {
  try {
    config::Errors errors;
    const std::vector<std::string> overrides = {key + "=" + value};
    config::Document document = config::load_text("", "", overrides, errors);
    config::read<Configuration>(document, errors);
    return !errors.concern(key);
  } catch (const UsageError&) {
    return false;
  }
}

/// The value to set if an option was given in another program's form.
std::string value_meant(const std::string& name, const std::string& key, const std::string& given) {
  if (is_taken(key, given)) return given;
  const std::string devices = key == "strategy.devices" ? devices_meant(name, given) : "";
  return devices.empty() ? "VALUE" : devices;
}

/// Makes "--batch-size" and "--batch_size" equal.
std::string letters(std::string_view name) {
  std::string text;
  for (const char c : name) text += c == '-' || c == '_' ? "" : std::string(1, c);
  return text;
}

/// Other programs' names of options, and the names here: the first one that the command has is suggested.
constexpr auto kOtherOptions = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"input", "--data"},         {"file", "--data"},        {"test", "--data"},          {"out", "--output"},
    {"out", "--run-dir"},        {"output", "--run-dir"},   {"outputdir", "--run-dir"},  {"savedir", "--run-dir"},
    {"logdir", "--run-dir"},     {"ckpt", "--checkpoint"},  {"weights", "--checkpoint"}, {"target", "--label"},
    {"n", "--workers"},          {"np", "--workers"},       {"nproc", "--workers"},      {"nprocpernode", "--workers"},
    {"numworkers", "--workers"}, {"maxtokens", "--tokens"}, {"loglevel", "-v"},
});

/// "; did you mean --run-dir?", or another hint for an option that the command does not have; "" if there is none.
std::string other_option(std::string_view name, const std::vector<std::string>& options, const CommandText& text) {
  const std::string plain_name = letters(name);
  for (const auto& [other, ours] : kOtherOptions) {
    if (other == plain_name && std::ranges::count(options, ours) > 0) return fmt::format("; did you mean {}?", ours);
  }
  const std::string usage = text.usage();
  if ((name == "config" || name == "c" || name == "cfg") && usage.find("CONFIG") != std::string::npos) {
    return fmt::format("; the configuration is given without an option: {} FILE", text.name);
  }
  const bool trains = text.name.ends_with(" fit") || text.name.ends_with(" eval");
  if (trains && (name == "workers" || name == "hosts" || name == "nproc")) {
    return "; several workers are started by launch: mirrortrain launch --workers 2 -- fit CONFIG";
  }
  return "";
}

/// "--set training.epochs=3" for `epochs` with the value 3; "" if no key is meant.
std::string set_meant(const std::string& name, const std::optional<std::string>& value) {
  auto key = config::key_elsewhere(name, config::schema<Configuration>(), true);
  if (!key) return "";
  if (*key == "data.validation" && value && is_taken(*key + ".fraction", *value)) *key += ".fraction";
  const bool is_section = key->find('.') == std::string::npos && !is_taken(*key, value.value_or("1"));
  if (is_section && value_meant(name, *key, value.value_or("")) == "VALUE") return "";
  return fmt::format("--set {}={}", *key, value ? value_meant(name, *key, *value) : "VALUE");
}

/// For `--epochs 3`, suggests `--set training.epochs=3`.
std::string unknown_option(const std::string& given, const std::optional<std::string>& next, const CommandText& text) {
  const std::size_t equals = given.find('=');
  const std::string option = given.substr(0, equals);
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::vector<std::string> options;
  for (const OptionText& known : text.options) options.insert(options.end(), known.names.begin(), known.names.end());
  const bool takes_set = std::ranges::count(options, "--set") > 0;
  const bool is_written_otherwise =
      std::ranges::any_of(options, [&](const std::string& known) { return letters(known) == letters(option); });
  const std::optional<std::string> value = equals != std::string::npos ? std::optional(given.substr(equals + 1)) : next;
  std::string hint = other_option(name, options, text);
  if (hint.empty() && takes_set && !is_written_otherwise &&
      name != "data") {  // a section here, and an option of other programs
    const std::string set = set_meant(name, value);
    if (!set.empty()) hint = fmt::format("; did you mean {}?", set);
  }
  if (hint.empty() && option.starts_with("--")) hint = config::suggestion(option, options);
  return fmt::format("there is no option {}{}", shortened(option), hint);
}

/// For an option in place of a command.
std::string option_before_command(const std::string& given, const CommandText& text) {
  const std::string option = given.substr(0, given.find('='));
  const bool is_of_a_command = std::ranges::any_of(text.commands, [&](const CommandText& inner) {
    return std::ranges::any_of(inner.options,
                               [&](const OptionText& known) { return std::ranges::count(known.names, option) > 0; });
  });
  std::vector<std::string> own;
  for (const OptionText& known : text.options) own.insert(own.end(), known.names.begin(), known.names.end());
  return fmt::format("there is no option {}{}", shortened(option),
                     is_of_a_command ? fmt::format(" here; it follows the command: {} COMMAND {}", text.name, option)
                                     : " before the command" + config::suggestion(option, own));
}

/// For `epochs=3` without --set, `--set training.epochs 3` without '=', or one argument too many.
std::string unexpected_argument(const CLI::App& command, const std::string& given) {
  std::string hint;
  const CLI::Option* const set = command.get_option_no_throw("--set");
  const std::size_t equals = given.find('=');
  if (set != nullptr && equals != std::string::npos && equals > 0) {
    const std::string meant = set_meant(given.substr(0, equals), given.substr(equals + 1));
    if (!meant.empty()) hint = fmt::format("; did you mean {}?", meant);
  }
  for (std::string key : set != nullptr ? set->results() : std::vector<std::string>()) {
    if (key.find('=') != std::string::npos) continue;
    if (key.ends_with(':')) key.pop_back();
    hint = fmt::format("; --set takes key.path=value: --set {}={}", shortened(key), shortened(given));
  }
  return fmt::format("unexpected argument '{}'{}", shortened(given), hint);
}

/// The parser's own errors, with their remedies.
std::string of_the_parser(const CLI::ParseError& error) {
  const std::string text = error.what();
  const auto parts = [&](std::string_view word) {
    const std::size_t at = text.find(word);
    return std::pair(text.substr(0, at), at == text.npos ? "" : text.substr(at + word.size()));
  };
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr && text.find(" excludes ") != text.npos) {
    const auto [one, other] = parts(" excludes ");
    return fmt::format("{} and {} exclude each other; leave one of them out", one, other);
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr && text.find(" requires ") != text.npos) {
    const auto [one, other] = parts(" requires ");
    return fmt::format("{} goes with {}; add it, or leave {} out", one, other, one);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing")) {
    return fmt::format("{}: expected a value behind it, found none", parts(":").first);
  }
  return text;
}

std::string what_is_wrong(const CLI::App& command, const CommandText& text, const CLI::ParseError& error) {
  std::vector<std::string> rest = command.remaining();
  if (!rest.empty() && !text.commands.empty()) {
    return rest[0].starts_with("-") ? option_before_command(rest[0], text) : unknown_command(rest[0], text);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || rest.empty()) return of_the_parser(error);
  // Options first: a word after one may be its value.
  const auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
  if (option == rest.end()) return unexpected_argument(command, rest[0]);
  // Versions of the parser return the remaining words in different orders.
  const auto value = std::ranges::find_if(rest, [](const std::string& word) { return !word.starts_with("-"); });
  return unknown_option(*option, value != rest.end() ? std::optional(*value) : std::nullopt, text);
}

}  // namespace

std::string unknown_command(const std::string& given, const CommandText& command) {
  std::vector<std::string> names;
  for (const CommandText& inner : command.commands) names.push_back(inner.word());
  // What other programs call commands.
  const config::Name others[] = {{"fit", "train"}, {"eval", "evaluate, test, validate"}, {"predict", "inference"}};
  const bool is_program = command.name.find(' ') == std::string::npos;
  std::string hint = given == "version" && is_program ? "; did you mean --version?" : "";
  for (const CommandText& inner : command.commands) {  // such as `check` for `config check`
    for (const CommandText& nested : inner.commands) {
      if (hint.empty() && nested.name.ends_with(" " + given)) {
        hint = fmt::format("; did you mean '{}'?", nested.name.substr(command.name.size() + 1));
      }
    }
  }
  return fmt::format("there is no command '{}'; the commands are {}{}", shortened(given), fmt::join(names, ", "),
                     hint.empty() ? config::suggestion(given, config::with_aliases(names, others)) : hint);
}

std::string refused_text(const CLI::App& app, const CLI::ParseError& error) {
  if (const std::vector<std::string> before = app.remaining(); !before.empty() && !app.get_subcommands().empty()) {
    const CommandText text = describe(app, "");
    const std::string command = app.get_subcommands().front()->get_name();
    return fmt::format(
        "{}: {}\nUsage: {}\n`{} {} -h` describes {}", text.name,
        before[0].starts_with("-") ? option_before_command(before[0], text) : unknown_command(before[0], text),
        text.usage(), text.name, command, command);
  }
  const Typed typed = typed_command(app);
  const CommandText text = describe(*typed.command, typed.above);
  if (!text.commands.empty() && typed.command->remaining().empty()) return help_text(text, 80);
  return fmt::format("{}: {}\nUsage: {}\n`{} -h` describes {}", text.name, what_is_wrong(*typed.command, text, error),
                     text.usage(), text.name, text.commands.empty() ? "its options" : "its commands");
}

}  // namespace mirrortrain::cli
