#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/stop_signals.h"
#include "config/scalar.h"
#include "serve/run_server.h"

namespace mirrortrain::cli {
namespace {

/// Bytes as "64MiB"; 0 if it is none, or more than any machine could receive.
std::size_t bytes_in(const std::string& text) {
  const std::uint64_t bytes = config::parse_size(text).value_or(0);
  return bytes <= std::uint64_t{1} << 40 ? bytes : 0;
}

void serve(const ServeOptions& options) {
  const std::atomic<int>& stop = catch_stop_signals_quietly();
  run_server(options, stop, [](const std::string& address, const std::string& grpc) {
    fmt::print("{}\n", address);
    if (!grpc.empty()) fmt::print("grpc://{}\n", grpc);
    std::fflush(stdout);
  });
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  auto token_file = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand("serve", "Answer requests for predictions over HTTP.");
  command->add_option("RUN", options->run, "A run's name or folder, or a checkpoint's")->required();
  command
      ->add_option("--host", options->host, "Address to listen at; 0.0.0.0: those of all networks; default: 127.0.0.1")
      ->type_name("HOST");
  command->add_option("--port", options->port, "Port to listen at; 0: any that is free; default: 8000")
      ->type_name("PORT")
      ->check(within(0L, 65535L));
  command
      ->add_option("--grpc-port", options->grpc_port,
                   "Port of the gRPC service too; 0: any that is free; default: none")
      ->type_name("PORT")
      ->check(within(0L, 65535L));
  command->add_option("--max-batch", options->max_batch, "Examples that are computed together at most; default: 32")
      ->type_name("N")
      ->check(within(1L, 65536L));
  command
      ->add_option(
          "--max-delay-ms", options->max_delay_ms,
          "How long an example waits at most for others that are arriving, to be computed together; default: 2")
      ->type_name("MS")
      ->check(within(0.0, 60000.0));
  command
      ->add_option_function<std::string>(
          "--max-body", [options](const std::string& text) { options->max_body = bytes_in(text); },
          "Largest body of a request; default: 64MiB")
      ->type_name("SIZE")
      ->check([](const std::string& text) -> std::string {
        return bytes_in(text) > 0 ? "" : fmt::format("expected a size such as 64MiB, found '{}'", text);
      });
  command
      ->add_option("--token-file", *token_file,
                   "File with a token in each line, one of which requests must have: Authorization: Bearer TOKEN")
      ->type_name("FILE");
  command->add_flag("--watch", options->watch, "Read the run's weights anew when they change");
  add_overrides(*command, options->overrides);
  command->callback([options, token_file, &exit_code] {
    if (!token_file->empty()) options->token_file = *token_file;
    serve(*options);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
