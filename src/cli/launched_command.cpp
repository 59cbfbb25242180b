#include "cli/launched_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "train/fit.h"
#include "train/runs/resume.h"

namespace mirrortrain::cli {

std::vector<std::string> launched_apart(const CLI::App& app, const std::vector<std::string>& words) {
  const auto is_command = [&](const std::string& word) {
    return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; }).empty();
  };
  const auto launch = std::ranges::find_if(words, is_command);
  if (launch == words.end() || *launch != "launch") return words;
  const CLI::App& options = *app.get_subcommand("launch");
  std::vector<std::string> own(words.begin(), launch + 1), launched;
  for (auto word = launch + 1; word != words.end(); ++word) {
    if (*word == "--") {
      launched.insert(launched.end(), word + 1, words.end());
      break;
    }
    const std::string name = word->substr(0, word->find('='));
    // Options of all commands belong to the nearest one.
    const bool is_launched = !launched.empty() && is_command(launched[0]) &&
                             app.get_subcommand(launched[0])->get_option_no_throw(name) != nullptr;
    const CLI::Option* const option =
        name.starts_with("-") && !is_launched ? options.get_option_no_throw(name) : nullptr;
    const bool is_before = launched.empty() && name.starts_with("-");
    (option != nullptr || is_before ? own : launched).push_back(*word);
    const bool takes_next = option != nullptr && option->get_items_expected_min() > 0 && word->find('=') == word->npos;
    if (takes_next && word + 1 != words.end()) own.push_back(*++word);
  }
  if (launched.empty()) return words;
  own.push_back("--");
  own.insert(own.end(), launched.begin(), launched.end());
  return own;
}

std::optional<LaunchedCommand> read_launched_command(const std::vector<std::string>& words, int& exit_code) {
  if (words.empty())
    throw UsageError("launch: what is to be started goes after `--`, as in: launch --workers 2 -- fit config.yaml");
  if (words[0] != "fit" && words[0] != "eval" && words[0] != "predict") {
    throw UsageError(fmt::format(
        "launch starts fit, eval and predict, as in: launch --hosts a,b -- fit config.yaml; found '{}'", words[0]));
  }
  CLI::App app("", "mirrortrain");
  int unused = 0;
  use_help_text(app);
  add_fit(app, unused);
  add_eval(app, unused);
  add_predict(app, unused);
  add_output_options(app);
  CLI::App* const command = app.get_subcommand(words[0]);
  // Only parsed, not run; the command keeps its callback, which owns what its options are written to.
  struct Parsed {};
  app.parse_complete_callback([] { throw Parsed(); });
  try {
    refuse_empty_texts(app, words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 reads them from the back
  } catch (const Parsed&) {
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      exit_code = app.exit(error);  // help
    } else {
      print_error(refused_text(app, error));
      exit_code = 2;
    }
    return std::nullopt;
  }
  LaunchedCommand result{words, words[0] == "fit", "", {}, {}, false};
  const CLI::Option* const config = command->get_option(result.is_fit        ? "CONFIG"
                                                        : words[0] == "eval" ? "RUN_OR_CONFIG"
                                                                             : "RUN");
  const CLI::Option* const resume = result.is_fit ? command->get_option("--resume") : nullptr;
  if (config->count() > 0) {
    result.config = config->as<std::string>();
  } else if (resume != nullptr && resume->count() > 0 && !resume->results().front().empty() &&
             resume->results().front() != kResumeIfAny) {
    // A run's configuration, or a configuration file itself, as in fit.
    const std::string named = resume->results().front();
    result.config = std::filesystem::is_regular_file(named) ? named : require_resumable(named).config().string();
  } else {
    throw UsageError("launch: fit needs a configuration file after `--`, as in: -- fit config.yaml");
  }
  if (command->count("--set") > 0) result.overrides = command->get_option("--set")->results();
  if (result.is_fit) {
    if (command->count("--run-dir") > 0) result.run_dir = command->get_option("--run-dir")->as<std::string>();
    result.resumes = command->count("--resume") > 0;
  }
  return result;
}

}  // namespace mirrortrain::cli
