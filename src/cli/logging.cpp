#include "cli/logging.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace mirrortrain::cli {

void set_up_logging() {
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_pattern("%^%v%$");
  console->set_level(spdlog::level::info);
  auto logger = std::make_shared<spdlog::logger>("mirrortrain", std::move(console));
  logger->set_level(spdlog::level::debug);  // debug messages go to the run's log alone
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void log_to_file(const std::filesystem::path& file) {
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::default_logger()->sinks().push_back(std::move(sink));
}

void log_to_file_alone(const std::string& error) {
  const auto& sinks = spdlog::default_logger()->sinks();
  for (std::size_t i = 1; i < sinks.size(); ++i) {
    sinks[i]->log({"mirrortrain", spdlog::level::err, error});
    sinks[i]->flush();
  }
}

}  // namespace mirrortrain::cli
