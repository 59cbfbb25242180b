#include "cli/logging.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>

#include "base/utf8.h"
#include "cli/options.h"
#include "report/console.h"
#include "report/fitted.h"

namespace mirrortrain::cli {
namespace {

/// https://no-color.org: any text but the empty one.
bool colors_are_unwanted() {
  const char* const no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0';
}

/// Breaks lines of prose between words; tables, which are narrowed, are unchanged.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    const bool is_prose = line.find("  ") == std::string_view::npos;
    while (is_prose && display_width(line) > width) {
      std::size_t cut = std::string_view::npos;
      for (std::size_t space = line.find(' '); space != std::string_view::npos; space = line.find(' ', space + 1)) {
        if (cut != std::string_view::npos && display_width(line.substr(0, space)) > width) break;
        cut = space;
      }
      if (cut == std::string_view::npos) break;
      result.append(line.substr(0, cut)).push_back('\n');
      line.remove_prefix(cut + 1);
    }
    result.append(line);
    if (end < text.size()) result.push_back('\n');
    start = end + 1;
  }
  return result;
}

/// stderr, on which a progress line may be displayed.
class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  ConsoleSink() : is_terminal_(report::is_terminal(stderr)), has_color_(is_terminal_ && !colors_are_unwanted()) {}

  void set_color(bool has_color) { has_color_ = has_color; }

  void print(spdlog::level::level_enum level, std::string_view message) {
    const std::string text = with_escaped_controls(message);
    const std::string_view color = level >= spdlog::level::err ? "\x1b[31m" : "\x1b[33m";
    const bool colored = has_color_ && level >= spdlog::level::warn;
    const std::size_t width = report::terminal_width(stderr);
    const std::string line = is_terminal_ ? wrapped(report::narrowed(text, width), width) : text;
    fmt::print(stderr, "{}{}{}{}\n", is_terminal_ ? "\r\x1b[K" : "", colored ? color : "", line,
               colored ? "\x1b[0m" : "");
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const bool warns = message.level == spdlog::level::warn;
    print(message.level, warns ? fmt::format("warning: {}", text) : std::string(text));
  }
  void flush_() override { std::fflush(stderr); }

 private:
  bool is_terminal_, has_color_;
};

ConsoleSink& console() { return static_cast<ConsoleSink&>(*spdlog::default_logger()->sinks().front()); }

/// A failure to write the log, or stderr, must not end the program that is being logged.
void warn_of_lost_log(const std::string& error) {
  static std::atomic_flag is_reported;
  if (is_reported.test_and_set()) return;
  try {
    console().print(spdlog::level::warn, "warning: the log is incomplete: " + error);
  } catch (const std::system_error&) {  // there is no other output
  }
}

void choose_color(const std::string& when) {
  console().set_color(when == "always" || (when == "auto" && report::is_terminal(stderr) && !colors_are_unwanted()));
}

}  // namespace

void set_up_logging() {
  auto console = std::make_shared<ConsoleSink>();
  console->set_level(spdlog::level::info);
  auto logger = std::make_shared<spdlog::logger>("mirrortrain", std::move(console));
  logger->set_level(spdlog::level::debug);  // debug messages go to the run's log, and with -v to the console
  logger->flush_on(spdlog::level::info);
  logger->set_error_handler([](const std::string& error) { warn_of_lost_log(error); });
  spdlog::set_default_logger(std::move(logger));
}

void add_output_options(CLI::App& command) {
  for (CLI::App* const inner : command.get_subcommands({})) add_output_options(*inner);
  CLI::Option* const quiet = command.add_flag_callback(
      "-q,--quiet", [] { console().set_level(spdlog::level::warn); }, "Show warnings, errors and results alone");
  command
      .add_flag_callback(
          "-v,--verbose", [] { console().set_level(spdlog::level::debug); },
          "Show details that otherwise go to run.log alone")
      ->excludes(quiet);
  command
      .add_option_function<std::string>("--color", choose_color,
                                        "Color errors and warnings: auto (on a terminal, unless NO_COLOR is set), "
                                        "always or never")
      ->type_name("WHEN")
      ->check(one_of({"auto", "always", "never"}));
}

void print_error(const std::string& text) {
  try {
    console().print(spdlog::level::err, text);
  } catch (const std::system_error&) {  // there is no other output; the exit code says that it failed
  }
}

}  // namespace mirrortrain::cli
