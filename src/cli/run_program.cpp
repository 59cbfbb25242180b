#include "cli/run_program.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/open_files_limit.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/launched_command.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "device/cpu/cpu_device.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain::cli {
namespace {

/// All threads get stacks of this size; a stack overflow is a segmentation fault without an error message.
void require_stack() {
  constexpr rlim_t kLeast = 512;  // KiB
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast * 1024) return;
  throw Error("the stack is limited to " + std::to_string(limit.rlim_cur / 1024) + " KiB, expected at least " +
              std::to_string(kLeast) + "; raise the limit: ulimit -s 8192");
}

/// Data may be in thousands of files.
constexpr std::uint64_t kPlentyOfFiles = 65536;

void report_lost_results(int reason) {
  print_error(std::string("error: cannot write to stdout: ") + std::strerror(reason) + "; the results are lost");
}

/// Fails if results could not be written to stdout.
int checked(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  report_lost_results(errno);
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  add_fit(app, exit_code);
  add_tune(app, exit_code);
  add_eval(app, exit_code);
  add_predict(app, exit_code);
  add_generate(app, exit_code);
  add_export(app, exit_code);
  add_serve(app, exit_code);
  add_init(app, exit_code);
  add_bench_allreduce(app, exit_code);
  add_verify(app, exit_code);
  add_plan(app, exit_code);
  add_config(app, exit_code);
  add_checkpoint(app, exit_code);
  add_data(app, exit_code);
  add_cache(app, exit_code);
  add_devices(app, exit_code);
  add_doctor(app, exit_code);
  add_runs(app, exit_code);
  add_report(app, exit_code);
  add_launch(app, exit_code);
  add_help(app, exit_code);
  add_usage(app, exit_code);
}

int run_program(int argc, const char* const* argv) {
  try {
    require_stack();
    allow_open_files(kPlentyOfFiles);
    require_compiled_instructions();
    std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is an error of the write
    CLI::App app("Trains neural networks described in YAML, synchronously on all devices of this machine.",
                 "mirrortrain");
    constexpr std::string_view kFormats = MIRRORTRAIN_FORMATS;  // beside those that every build has
    app.set_version_flag("--version", std::string("mirrortrain ") + kVersion +
                                          (kFormats.empty() ? "" : fmt::format(" (with {})", kFormats)));
    app.require_subcommand(1);
    int exit_code = 0;
    use_help_text(app);
    add_commands(app, exit_code);
    add_output_options(app);
    try {
      const std::vector<std::string> words = launched_apart(app, {argv + 1, argv + std::max(argc, 1)});
      refuse_empty_texts(app, words);
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 reads them from the back
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return checked(app.exit(error));  // help and version
      print_error(refused_text(app, error));
      return UsageError::kExitCode;
    }
    return checked(exit_code);
  } catch (const UsageError& error) {
    print_error(error.what());
    return UsageError::kExitCode;
  } catch (const std::filesystem::filesystem_error& error) {
    print_error("error: cannot access " + error.path1().string() + ": " + error.code().message());
    return error.code() == std::errc::filename_too_long ? 2 : 1;
  } catch (const std::bad_alloc&) {
    print_error(
        "error: not enough memory; use a smaller model, batch or data set, or raise the limit of memory (ulimit -v)");
    return 1;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {  // of fmt::print
      report_lost_results(error.code().value());
      return 1;
    }
    const bool no_threads = error.code() == std::errc::resource_unavailable_try_again;
    print_error(
        std::string("error: ") + error.what() +
        (no_threads
             ? ": the system starts no more threads; raise the limit of processes (ulimit -u) or of memory (ulimit -v)"
             : ""));
    return 1;
  } catch (const NonFinite& error) {
    print_error(std::string("error: ") + error.what());
    return NonFinite::kExitCode;
  } catch (const std::exception& error) {
    print_error(std::string("error: ") + error.what());
    return 1;
  }
}

}  // namespace mirrortrain::cli
