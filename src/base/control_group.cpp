#include "base/control_group.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// Calls `visit(folder, is_second)` for this process's group of a controller ("memory") and for each of its parents.
template <class Visit>
void for_each_group(const fs::path& root, const std::string& controller, const Visit& visit) {
  std::ifstream own(root / "proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    // "0::/user.slice", or of version 1 "4:cpu,cpuacct:/user.slice".
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_second = controllers == ",,";
    if (!is_second && controllers.find("," + controller + ",") == controllers.npos) continue;
    const fs::path groups = root / "sys/fs/cgroup" / (is_second ? "" : controller);
    // In a container the group's own path may be outside of what is mounted.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      visit(groups / group, is_second);
      if (group.empty()) break;
    }
  }
}

/// The numbers that a file begins with; nullopt if it has fewer, or a word as "max".
template <std::size_t kCount>
std::optional<std::array<double, kCount>> numbers_in(const fs::path& file) {
  std::ifstream in(file);
  std::array<double, kCount> numbers{};
  for (double& number : numbers) {
    if (!(in >> number)) return std::nullopt;
  }
  return numbers;
}

std::optional<double> cores_of(const fs::path& group, bool is_second) {
  double quota = 0, period = 0;
  if (is_second) {
    const auto both = numbers_in<2>(group / "cpu.max");
    if (both) quota = (*both)[0], period = (*both)[1];
  } else {
    const auto of_first = numbers_in<1>(group / "cpu.cfs_quota_us"),
               its_period = numbers_in<1>(group / "cpu.cfs_period_us");
    if (of_first && its_period) quota = (*of_first)[0], period = (*its_period)[0];
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<std::uint64_t> memory_limit_of_group(const fs::path& root) {
  std::optional<std::uint64_t> least;
  for_each_group(root, "memory", [&](const fs::path& group, bool is_second) {
    std::ifstream in(group / (is_second ? "memory.max" : "memory.limit_in_bytes"));
    if (std::uint64_t bytes = 0; in >> bytes) least = std::min(least.value_or(bytes), bytes);
  });
  return least;
}

std::optional<double> core_limit_of_group(const fs::path& root) {
  std::optional<double> least;
  for_each_group(root, "cpu", [&](const fs::path& group, bool is_second) {
    if (const auto cores = cores_of(group, is_second)) least = std::min(least.value_or(*cores), *cores);
  });
  return least;
}

}  // namespace mirrortrain
