#include "train/inference/generate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "train/runs/run_weights.h"

namespace mirrortrain::cli {
namespace {

struct GenerateArguments {
  std::string run, prompt;
  std::int64_t tokens = 0;
  Sampling sampling;
  std::vector<std::string> overrides;
};

/// Rejects numbers below `least` or too large for T, and texts that are not numbers. The text becomes the number in
/// plain form, so that all versions of the parser interpret it equally.
template <class T>
CLI::Validator at_least(T least, const std::string& what) {
  return {[=](std::string& text) -> std::string {
            T number{};
            const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
            const char* const end = text.data() + text.size();
            const auto [stopped, error] = std::from_chars(begin, end, number);
            const bool is_number = stopped == end && error != std::errc::invalid_argument;
            const bool is_too_large =
                std::is_integral_v<T> && error == std::errc::result_out_of_range && !text.starts_with('-');
            if (is_number && is_too_large) {
              return fmt::format("expected {} of at most {}, found '{}'", what, std::numeric_limits<T>::max(),
                                 shortened(text));
            }
            if (!is_number || error != std::errc{} || !std::isfinite(static_cast<double>(number)) || number < least) {
              return fmt::format("expected {} of at least {}, found '{}'", what, least, shortened(text));
            }
            text = fmt::format("{}", number);
            return "";
          },
          ""};
}

std::string read_stdin() {
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), stdin)) text.append(piece.data(), got);
  if (std::ferror(stdin) != 0) throw Error("cannot read the prompt from stdin; give it as --prompt TEXT");
  return text;
}

int generate(const GenerateArguments& arguments) {
  const bool is_piped = arguments.prompt == "-";
  const std::string prompt = is_piped ? read_stdin() : arguments.prompt;
  if (prompt.empty()) {
    throw UsageError(
        fmt::format("{}: expected at least one byte of text to continue, found none; begin with a line "
                    "break or with a word of the training text",
                    is_piped ? "--prompt -: stdin" : "--prompt"));
  }
  TrainedRun trained = open_trained_run(arguments.run, arguments.overrides);
  TextGenerator generator(std::move(trained.checked), trained.adapted.value_or(data::Adapted{}), arguments.run);
  load_trained_weights(trained.named, generator.strategy());
  // A write error ends the text; `main` reports it.
  generator.generate(prompt, arguments.tokens, arguments.sampling, [](std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  });
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue a text with a model that was trained on data of format text.");
  command->add_option("RUN", arguments->run, "A run's name or folder, or a checkpoint's")->required();
  command->add_option("--prompt", arguments->prompt, "The text to continue; -: reads stdin")
      ->required()
      ->type_name("TEXT");
  command
      ->add_option("--tokens", arguments->tokens, "Number of tokens to write: bytes, or what the run's vocabulary has")
      ->required()
      ->type_name("N")
      ->transform(at_least<std::int64_t>(1, "a whole number"));
  command
      ->add_option("--temperature", arguments->sampling.temperature,
                   "Divides the logits: below 1 the text becomes more predictable, above 1 less; 0: always the most "
                   "probable byte; default: 1")
      ->type_name("T")
      ->transform(at_least<double>(0, "a number"));
  command
      ->add_option("--top-k", arguments->sampling.top_k,
                   "Draw from the K most probable tokens alone; default: from all")
      ->type_name("K")
      ->transform(at_least<std::int64_t>(1, "a whole number"));
  command->add_option("--seed", arguments->sampling.seed, "Random seed: the same one gives the same text; default: 0")
      ->type_name("S")
      ->transform(at_least<std::uint64_t>(0, "a whole number"));
  add_overrides(*command, arguments->overrides);
  command->callback([arguments, &exit_code] { exit_code = generate(*arguments); });
}

}  // namespace mirrortrain::cli
