#include "train/generate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_weights.h"

namespace mirrortrain::cli {
namespace {

struct GenerateArguments {
  std::string run, prompt;
  std::int64_t tokens = 0;
  Sampling sampling;
  std::vector<std::string> overrides;
};

/// Numbers below `least` or too large for T, and what is no number, are refused.
template <class T>
CLI::Validator at_least(T least, const std::string& what) {
  return {[=](std::string& text) -> std::string {
            T number{};
            const bool wraps = std::is_unsigned_v<T> && text.starts_with('-');  // which the parser would let pass
            errno = 0;  // which alone tells that the parser took the nearest number instead
            const bool fits = !wraps && CLI::detail::lexical_cast(text, number) &&
                              std::isfinite(static_cast<double>(number)) && number >= least;
            if (std::is_integral_v<T> && fits && errno == ERANGE) {
              return fmt::format("expected {} of at most {}, found '{}'", what, std::numeric_limits<T>::max(),
                                 shortened(text));
            }
            return fits ? "" : fmt::format("expected {} of at least {}, found '{}'", what, least, shortened(text));
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
  // What cannot be written ends the text; `main` tells.
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
  command->add_option("--prompt", arguments->prompt, "The text to continue; -: what stdin has, up to its end")
      ->required()
      ->type_name("TEXT");
  command
      ->add_option("--tokens", arguments->tokens, "Number of tokens to write: bytes, or what the run's vocabulary has")
      ->required()
      ->type_name("N")
      ->check(at_least<std::int64_t>(1, "a whole number"));
  command
      ->add_option("--temperature", arguments->sampling.temperature,
                   "Divides the logits: below 1 the text becomes more predictable, above 1 less; 0: always the most "
                   "probable byte; default: 1")
      ->type_name("T")
      ->check(at_least<double>(0, "a number"));
  command
      ->add_option("--top-k", arguments->sampling.top_k,
                   "Draw from the K most probable tokens alone; default: from all")
      ->type_name("K")
      ->check(at_least<std::int64_t>(1, "a whole number"));
  command
      ->add_option("--seed", arguments->sampling.seed,
                   "What the random numbers derive from: the same seed gives the same text; default: 0")
      ->type_name("S")
      ->check(at_least<std::uint64_t>(0, "a whole number"));
  add_overrides(*command, arguments->overrides);
  command->callback([arguments, &exit_code] { exit_code = generate(*arguments); });
}

}  // namespace mirrortrain::cli
