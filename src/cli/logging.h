#pragma once

#include <filesystem>
#include <string>

namespace mirrortrain::cli {

/// Messages go to stderr.
void set_up_logging();

/// From now on everything goes to the run's log file too, with the time.
void log_to_file(const std::filesystem::path& file);
/// Logs an error to the run's log file only: somebody else prints it.
void log_to_file_alone(const std::string& error);

}  // namespace mirrortrain::cli
