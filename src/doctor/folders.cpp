// Whether the folders that runs write to can be written.
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "base/files.h"
#include "doctor/doctor.h"
#include "report/format.h"

namespace mirrortrain::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLeastSpace = std::uintmax_t{256} << 20;

/// Tries it with a file that has no name; returns why it cannot be written, empty if it can.
std::string why_not_writable(const fs::path& folder) {
  errno = 0;
  std::FILE* const trial = unnamed_file(folder);
  if (trial == nullptr) {
    return fmt::format("cannot write in {}: {}", folder.string(), std::generic_category().message(errno));
  }
  std::fclose(trial);
  return "";
}

/// The folder, or the nearest one above it that exists, in which a run would make it.
fs::path existing(fs::path folder) {
  std::error_code none;
  while (!fs::exists(folder, none) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

Finding look_at(const UsedFolder& folder, const Surroundings& surroundings) {
  Finding finding{"folders", folder.name, folder.path.string()};
  if (folder.path.empty()) {
    finding.value = "none";
    finding.remedy = folder.remedy;
    return finding;
  }
  const fs::path there = existing(folder.path);
  if (there != folder.path) finding.value += " (does not exist yet)";
  finding.problem = why_not_writable(there);
  if (!finding.problem.empty()) {
    finding.remedy = folder.remedy;
    return finding;
  }
  try {
    const fs::space_info space = surroundings.space(there);
    finding.value += fmt::format(", {} free", report::bytes_text(space.available));
    if (space.available < kLeastSpace) {
      finding.problem = "checkpoints and unpacked data need more space";
      finding.remedy = "remove what is not needed (mirrortrain cache clean), or " + folder.remedy;
    }
  } catch (const fs::filesystem_error&) {  // the space is not known
  }
  return finding;
}

}  // namespace

Findings examine_folders(const Surroundings& surroundings) {
  Findings findings;
  for (const UsedFolder& folder : surroundings.folders) findings.push_back(look_at(folder, surroundings));
  return findings;
}

}  // namespace mirrortrain::doctor
