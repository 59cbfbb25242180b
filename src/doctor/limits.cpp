// What the system lets a process have.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "base/control_group.h"
#include "doctor/doctor.h"
#include "report/format.h"

namespace mirrortrain::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Limit {
  std::uint64_t soft = kUnlimited, hard = kUnlimited;
};

std::uint64_t number_of_limit(const std::string& word) {
  std::uint64_t number = kUnlimited;
  std::from_chars(word.data(), word.data() + word.size(), number);  // "unlimited" leaves it
  return number;
}

/// A line of /proc/self/limits: "Max open files            1024                 524288               files".
std::optional<Limit> limit_of(const fs::path& root, const std::string& name) {
  std::ifstream file(root / "proc/self/limits");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft, hard;
    if (words >> soft >> hard) return Limit{number_of_limit(soft), number_of_limit(hard)};
  }
  return std::nullopt;
}

std::string count_text(std::uint64_t number) {
  return number == kUnlimited ? "unlimited" : report::with_thousands(static_cast<std::int64_t>(number));
}

std::string size_text(std::uint64_t bytes) { return bytes == kUnlimited ? "unlimited" : report::bytes_text(bytes); }

Finding open_files(const Limit& limit) {
  // The program raises the soft limit to the hard one.
  Finding finding{"limits", "open files (ulimit -n)", count_text(limit.hard)};
  if (limit.hard < 4096) {
    finding.problem = "data in many files and tasks of many machines need more";
    finding.remedy = "ulimit -n 65536 as root or in /etc/security/limits.conf; docker run --ulimit nofile=65536:65536";
  }
  return finding;
}

Finding processes(const Limit& limit, std::size_t cores) {
  Finding finding{"limits", "processes (ulimit -u)", count_text(limit.soft)};
  // Threads count: a run has some for each core, for reading and for each connection; others of the user count, too.
  const std::uint64_t enough = 256 + 16 * std::uint64_t{cores};
  if (limit.soft < enough) {
    finding.problem = "each thread counts as a process, and a run on all cores may not get its threads";
    finding.remedy = fmt::format("ulimit -u {} or more; docker run --pids-limit", enough);
  }
  return finding;
}

Finding locked_memory(const Limit& limit, const fs::path& root) {
  Finding finding{"limits", "locked memory (ulimit -l)", size_text(limit.soft)};
  std::error_code none;
  const bool has_infiniband =
      fs::is_directory(root / "sys/class/infiniband", none) && !fs::is_empty(root / "sys/class/infiniband", none);
  if (has_infiniband && limit.soft != kUnlimited) {
    finding.problem = "MPI and NCCL lock the memory that they send over InfiniBand";
    finding.remedy =
        "ulimit -l unlimited, as \"* soft memlock unlimited\" and \"* hard memlock unlimited\" in "
        "/etc/security/limits.conf; docker run --ulimit memlock=-1";
  }
  return finding;
}

Finding core_files(const Limit& limit) {
  Finding finding{"limits", "core files (ulimit -c)", limit.soft == 0 ? "none" : size_text(limit.soft)};
  if (limit.soft == 0)
    finding.remedy = "ulimit -c unlimited, before a run, keeps what is needed to find why it crashed";
  return finding;
}

Finding address_space(const Limit& limit) {
  Finding finding{"limits", "address space (ulimit -v)", size_text(limit.soft)};
  if (limit.soft < 4096 * kMiB) {
    finding.problem = "data and libraries are mapped, which needs addresses for more than is held";
    finding.remedy = "ulimit -v unlimited; limit memory by a control group instead";
  }
  return finding;
}

Finding file_size(const Limit& limit) {
  Finding finding{"limits", "file size (ulimit -f)", size_text(limit.soft)};
  if (limit.soft != kUnlimited) {
    finding.problem = "weights, checkpoints and unpacked data that are larger cannot be written";
    finding.remedy = "ulimit -f unlimited";
  }
  return finding;
}

/// The number after a name in /proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_of_machine(const fs::path& root, const std::string& name) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string word; file >> word && word != name;) {
  }
  if (std::uint64_t kibibytes = 0; file >> kibibytes) return kibibytes * 1024;
  return std::nullopt;
}

Finding memory(const fs::path& root) {
  const auto total = memory_of_machine(root, "MemTotal:"), available = memory_of_machine(root, "MemAvailable:");
  const auto group = memory_limit_of_group(root);
  Finding finding{"limits", "memory",
                  fmt::format("{}, {} available", size_text(total.value_or(kUnlimited)),
                              size_text(available.value_or(kUnlimited)))};
  const bool is_limited = group && (!total || *group < *total);
  if (is_limited) finding.value += fmt::format("; the control group allows {}", size_text(*group));
  if (std::min(available.value_or(kUnlimited), group.value_or(kUnlimited)) < 512 * kMiB) {
    finding.problem = "it is little for training; the system kills processes that need more";
    finding.remedy = is_limited ? "raise the limit: docker run --memory, sbatch --mem"
                                : "end other programs, or take a smaller batch, model or data.memory";
  }
  return finding;
}

Finding shared_memory(const Surroundings& surroundings) {
  const fs::path folder = surroundings.root / "dev/shm";
  Finding finding{"limits", "shared memory (/dev/shm)"};
  try {
    const fs::space_info space = surroundings.space(folder);
    finding.value = fmt::format("{}, {} free", size_text(space.capacity), size_text(space.available));
    if (space.available < 256 * kMiB) {
      finding.remedy =
          "workers on one machine whose gradients do not fit add them over the network, which is slower; "
          "docker run --shm-size=1g";
    }
  } catch (const fs::filesystem_error& error) {
    finding.value = "none";
    finding.problem = fmt::format("workers on one machine cannot use it: {}", error.code().message());
    finding.remedy = "mount -t tmpfs tmpfs /dev/shm";
  }
  return finding;
}

}  // namespace

Findings examine_limits(const Surroundings& surroundings) {
  const fs::path& root = surroundings.root;
  Findings findings;
  const auto add = [&](const char* name, const auto& judge) {
    if (const auto limit = limit_of(root, name)) findings.push_back(judge(*limit));
  };
  add("Max open files", open_files);
  add("Max processes", [&](const Limit& limit) { return processes(limit, surroundings.cores); });
  add("Max locked memory", [&](const Limit& limit) { return locked_memory(limit, root); });
  add("Max core file size", core_files);
  add("Max address space", address_space);
  add("Max file size", file_size);
  findings.push_back(memory(root));
  findings.push_back(shared_memory(surroundings));
  return findings;
}

}  // namespace mirrortrain::doctor
