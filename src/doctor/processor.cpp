// The processor, and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "base/control_group.h"
#include "doctor/doctor.h"

namespace mirrortrain::doctor {
namespace {

namespace fs = std::filesystem;

/// The value of a key in /proc/cpuinfo, of the first processor.
std::string of_first_processor(const fs::path& root, const std::string& key) {
  std::ifstream info(root / "proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(key) && colon != line.npos) return line.substr(std::min(colon + 2, line.size()));
  }
  return "";
}

/// The levels of x86-64 from the highest, with the flags of /proc/cpuinfo that each needs beside the lower ones'.
/// https://gitlab.com/x86-psABIs/x86-64-ABI
struct Level {
  const char* name;
  std::vector<const char*> flags;
};

const std::vector<Level>& levels() {
  static const std::vector<Level> all = {{"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
                                         {"x86-64-v3", {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}},
                                         {"x86-64-v2", {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}}};
  return all;
}

std::string level_of(const std::set<std::string>& flags) {
  std::string level = "x86-64";
  for (auto one = levels().rbegin(); one != levels().rend(); ++one) {
    if (!std::ranges::all_of(one->flags, [&](const char* flag) { return flags.contains(flag); })) break;
    level = one->name;
  }
  return level;
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 ..." has the driver's version as its first
/// number with a point.
std::string driver_version(const fs::path& root) {
  std::ifstream file(root / "proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool is_number = word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos;
    if (is_number) return word;
  }
  return "";
}

}  // namespace

Findings examine_processor(const Surroundings& surroundings) {
  std::istringstream words(of_first_processor(surroundings.root, "flags"));
  std::set<std::string> flags;
  for (std::string flag; words >> flag;) flags.insert(flag);
  const std::string level = level_of(flags), built_for = MIRRORTRAIN_ARCH;
  Finding built{"processor", "built for", built_for.empty() ? "the compiler's default" : built_for};
  const bool is_lower = built_for.empty() || (built_for.starts_with("x86-64") && built_for < level);
  if (!flags.empty() && is_lower && level != "x86-64") {
    built.remedy = fmt::format("a build with -D MIRRORTRAIN_ARCH={} would train faster here", level);
  }
  Finding cores{"processor", "usable cores", fmt::format("{}", surroundings.cores)};
  const auto quota = core_limit_of_group(surroundings.root);
  if (quota && *quota < static_cast<double>(surroundings.cores) - 0.01) {
    cores.value += fmt::format(", with the time of {:.4g} of them", *quota);
    cores.problem =
        "the control group (a container's --cpus, a batch system) stops the threads of all cores for a part "
        "of each period, and every step waits for the slowest";
    cores.remedy = fmt::format(
        "give whole cores instead: docker run --cpuset-cpus, srun --cpu-bind=cores, or "
        "taskset -c 0-{} mirrortrain ...",
        std::max(1, static_cast<int>(*quota)) - 1);
  }
  const std::string name = of_first_processor(surroundings.root, "model name");
  return {{"processor", "name", name.empty() ? "unknown" : name},
          {"processor", "level", flags.empty() ? "unknown: /proc/cpuinfo has no flags" : level},
          {"processor", "bfloat16",
           flags.contains("amx_bf16")      ? "AMX"
           : flags.contains("avx512_bf16") ? "AVX512_BF16"
                                           : "in software"},
          std::move(built),
          std::move(cores)};
}

Findings examine_gpus(const Surroundings& surroundings) {
  const std::string driver = driver_version(surroundings.root);
  const cuda::Gpus& found = surroundings.gpus;
  Findings findings = {{"GPUs", "driver", driver.empty() ? "no NVIDIA driver" : "NVIDIA " + driver}};
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    findings.push_back({"GPUs", fmt::format("cuda:{}", i), cuda::describe(found, i)});
  }
  if (found.gpus.empty()) {
    Finding none{"GPUs", "devices", "none"};
    if (driver.empty()) {
      none.value = found.why_none;
    } else {
      none.problem = found.why_none;
      none.remedy = "docs/cuda.md says what a build for GPUs needs, and which drivers; nvidia-smi shows the GPUs";
    }
    findings.push_back(std::move(none));
    return findings;
  }
  for (const auto& [name, file, problem] : surroundings.gpu_libraries) {
    const bool is_needed = name != "NCCL" || found.gpus.size() > 1;
    Finding library{"GPUs", name, problem.empty() ? file : is_needed ? "missing" : "missing; one GPU does without it"};
    if (!problem.empty() && is_needed) {
      library.problem = problem;
      library.remedy = "install it, or set LD_LIBRARY_PATH to its folder; docs/cuda.md names the packages";
    }
    findings.push_back(std::move(library));
  }
  return findings;
}

}  // namespace mirrortrain::doctor
