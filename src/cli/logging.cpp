#include "cli/logging.h"

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

}  // namespace mirrortrain::cli
