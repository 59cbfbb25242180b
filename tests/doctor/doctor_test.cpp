// What `doctor` says of machines that are given as folders with their /proc and /sys.
#include "doctor/doctor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/control_group.h"
#include "base/files.h"
#include "base/json.h"
#include "error_text.h"
#include "temporary_folder.h"

namespace mirrortrain::testing {
namespace {

namespace fs = std::filesystem;
using doctor::Finding;
using doctor::Findings;

constexpr const char* kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max file size             unlimited            unlimited            bytes     \n"
    "Max core file size        unlimited            unlimited            bytes     \n"
    "Max processes             96365                96365                processes \n"
    "Max open files            1024                 524288               files     \n"
    "Max locked memory         8388608              8388608              bytes     \n"
    "Max address space         unlimited            unlimited            bytes     \n";

/// A machine on which nothing is wrong.
struct Fixture {
  TemporaryFolder folder;
  std::map<std::string, std::string> variables;
  doctor::Surroundings machine;

  Fixture() {
    machine.root = folder.path();
    machine.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    machine.space = [](const fs::path&) {
      return fs::space_info{std::uintmax_t{1} << 40, std::uintmax_t{1} << 39, std::uintmax_t{1} << 39};
    };
    machine.cores = 4;
    machine.folders = {{"runs", folder / "work/runs", "choose another folder"}};
    machine.gpus.why_none = "no GPU: no NVIDIA driver is installed";
    machine.loaded = [] { return std::vector<std::string>{"/lib/libz.so.1", "/lib/libdnnl.so.2"}; };
    machine.version_by = [](const std::string& name) { return name == "zlibVersion" ? "1.2.13" : ""; };
    machine.module_error = [](const char*) { return ""; };
    put("proc/self/limits", kLimits);
    put("proc/meminfo", "MemTotal:       24000000 kB\nMemFree: 9 kB\nMemAvailable:   16000000 kB\n");
    put("proc/cpuinfo", "model name\t: Some CPU\nflags\t\t: cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3\n");
    put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n");
    fs::create_directories(folder / "work");
  }

  void put(const std::string& file, const std::string& text) {
    fs::create_directories((folder / file).parent_path());
    write_file(folder / file, text);
  }
  void set(const std::string& name, const std::string& value) {
    variables[name] = value;
    machine.variables.push_back(name);
  }
  Finding find(const std::string& name) const {
    const Findings all = doctor::examine(machine);
    const auto found = std::ranges::find(all, name, &Finding::name);
    REQUIRE_MESSAGE(found != all.end(), name);
    return *found;
  }
};

TEST_CASE_FIXTURE(Fixture, "a machine on which nothing is wrong") {
  const Findings all = doctor::examine(machine);
  CHECK_MESSAGE(number_wrong(all) == 0, findings_text(all));
  CHECK(findings_text(all).ends_with("\nnothing is wrong\n"));
  CHECK(find("system").value == "Some Linux 1");
  CHECK(find("zlib").value == "1.2.13, /lib/libz.so.1");
  CHECK(find("level").value == "x86-64-v2");
  CHECK(find("open files (ulimit -n)").value == "524,288");  // the program raises the soft limit
  CHECK(find("devices").value == "no GPU: no NVIDIA driver is installed");
  CHECK(find("this process").value == "of no cluster");
  CHECK(contains(find("runs").value, "work/runs (does not exist yet), 512.0 GiB free"));
  CHECK_FALSE(fs::exists(folder / "work/runs"));
  CHECK(fs::is_empty(folder / "work"));
}

TEST_CASE_FIXTURE(Fixture, "the processor's level is that of the System V ABI") {
  const std::string second = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
                    third = " avx avx2 bmi1 bmi2 f16c fma abm movbe",
                    fourth = " avx512f avx512bw avx512cd avx512dq avx512vl";
  const auto level = [&](const std::string& flags) {
    put("proc/cpuinfo", "flags : " + flags + "\n");
    return find("level").value;
  };
  CHECK(level("sse2") == "x86-64");
  CHECK(level(second) == "x86-64-v2");
  CHECK(level(second + third) == "x86-64-v3");
  CHECK(level(second + third + fourth) == "x86-64-v4");
  CHECK(level(second + fourth) == "x86-64-v2");
  CHECK(level(second + third + " avx512f") == "x86-64-v3");
}

TEST_CASE_FIXTURE(Fixture, "limits that are too low, each with a remedy") {
  std::string limits = kLimits;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = kLimits;
    changed.replace(changed.find(from), from.size(), to);
    put("proc/self/limits", changed);
  };
  with("524288", "1024  ");
  CHECK(contains(find("open files (ulimit -n)").remedy, "ulimit -n 65536"));
  with("Max processes             96365", "Max processes             100  ");
  CHECK(contains(find("processes (ulimit -u)").remedy, "ulimit -u 320"));
  with("Max address space         unlimited ", "Max address space         1000000000");
  CHECK(contains(find("address space (ulimit -v)").problem, "mapped"));
  with("Max file size             unlimited", "Max file size             1000000  ");
  CHECK(find("file size (ulimit -f)").remedy == "ulimit -f unlimited");
  put("proc/self/limits", kLimits);
  CHECK(find("locked memory (ulimit -l)").problem.empty());
  fs::create_directories(folder / "sys/class/infiniband/mlx5_0");
  CHECK(contains(find("locked memory (ulimit -l)").remedy, "ulimit -l unlimited"));
  put("proc/meminfo", "MemTotal: 24000000 kB\nMemAvailable: 100000 kB\n");
  CHECK(contains(find("memory").problem, "little"));
}

TEST_CASE_FIXTURE(Fixture, "control groups of both versions, and of parents") {
  CHECK_FALSE(memory_limit_of_group(machine.root));
  CHECK_FALSE(core_limit_of_group(machine.root));
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK_FALSE(core_limit_of_group(machine.root));
  put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/a/memory.max", "400000000\n");
  CHECK(core_limit_of_group(machine.root) == 1.5);
  CHECK(memory_limit_of_group(machine.root) == 400'000'000);
  CHECK(find("usable cores").value == "4, with the time of 1.5 of them");
  CHECK(contains(find("usable cores").remedy, "taskset -c 0-0"));
  CHECK(contains(find("memory").value, "the control group allows 381.5 MiB"));
  CHECK(contains(find("memory").remedy, "sbatch --mem"));
  put("sys/fs/cgroup/a/cpu.max", "400000 100000\n");  // as many as there are
  CHECK(find("usable cores").problem.empty());

  put("proc/self/cgroup", "4:cpu,cpuacct:/x\n9:memory:/y\n");
  put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
  put("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "1073741824\n");
  CHECK(core_limit_of_group(machine.root) == 0.5);
  CHECK(memory_limit_of_group(machine.root) == std::uint64_t{1} << 30);
  put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  CHECK_FALSE(core_limit_of_group(machine.root));
}

TEST_CASE_FIXTURE(Fixture, "folders that cannot be written, full ones, and little shared memory") {
  put("file", "");
  machine.folders[0].path = folder / "file/runs";  // even root cannot make a folder in a file
  CHECK(contains(find("runs").problem, "cannot write in " + (folder / "file").string()));
  CHECK(find("runs").remedy == "choose another folder");
  machine.folders = {{"cache", "", "set HOME"}};
  CHECK(find("cache").value == "none");
  machine.folders = {{"runs", folder / "work", "choose another folder"}};
  machine.space = [](const fs::path&) { return fs::space_info{64 << 20, 1 << 20, 1 << 20}; };
  CHECK(contains(find("runs").problem, "more space"));
  CHECK(find("shared memory (/dev/shm)").problem.empty());
  CHECK(contains(find("shared memory (/dev/shm)").remedy, "--shm-size"));
  machine.space = [](const fs::path& path) -> fs::space_info {
    throw fs::filesystem_error("space", path, std::make_error_code(std::errc::no_such_file_or_directory));
  };
  CHECK(contains(find("shared memory (/dev/shm)").problem, "No such file"));
}

TEST_CASE_FIXTURE(Fixture, "GPUs, and a driver whose GPUs this build cannot use") {
  put("proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\nGCC version: 12.2.0\n");
  CHECK(find("driver").value == "NVIDIA 550.54.14");
  CHECK(find("devices").problem == machine.gpus.why_none);
  machine.gpus = {{{"NVIDIA H200", std::size_t{141} << 30, 9, 0, "", {cuda::Link::kThroughHost}}}, ""};
  machine.gpu_libraries = {{"cuDNN", "", "libcudnn.so.9: not found"}, {"NCCL", "", "libnccl.so.2: not found"}};
  CHECK(contains(find("cuda:0").value, "NVIDIA H200, 141.0 GiB"));
  CHECK(find("cuDNN").problem == "libcudnn.so.9: not found");
  CHECK(find("NCCL").problem.empty());  // one GPU does without
  machine.gpus.gpus.push_back(machine.gpus.gpus[0]);
  CHECK_FALSE(find("NCCL").problem.empty());
}

TEST_CASE_FIXTURE(Fixture, "the variables of launchers, without secrets") {
  set("SLURM_JOB_ID", "7");
  CHECK(contains(find("this process").remedy, "srun mirrortrain"));
  variables.clear();
  machine.variables.clear();
  set("RANK", "1");
  CHECK(contains(find("RANK").problem, "WORLD_SIZE is not set"));
  set("WORLD_SIZE", "2");
  set("MASTER_ADDR", "node1");
  set("MASTER_PORT", "29500");
  set("MIRRORTRAIN_TOKEN", "secret-of-ours");
  set("SLURM_JWT", "secret-of-slurm");
  set("OMPI_MCA_key", "secret-of-mpi");
  set("HOME", "/home/somebody");
  const Findings all = doctor::examine(machine);
  const std::string text = findings_text(all);
  CHECK_MESSAGE(number_wrong(all) == 0, text);
  CHECK(find("this process").value == "worker 1, of 2 tasks, by torchrun");
  CHECK(find("MASTER_ADDR").value == "node1");
  CHECK(find("set, not shown").value == "SLURM_JWT OMPI_MCA_key");
  CHECK_FALSE(contains(text + json_text(findings_json(all)), "secret"));
  CHECK_FALSE(contains(text, "somebody"));
  set("MIRRORTRAIN_TOKN", "secret");
  CHECK(contains(find("MIRRORTRAIN_TOKN").remedy, "MIRRORTRAIN_TOKEN, MIRRORTRAIN_PORT"));
  variables["MIRRORTRAIN_TOKEN"] = "sec\tret";
  CHECK(contains(find("MIRRORTRAIN_TOKEN").problem, "printable ASCII"));
  variables["WORLD_SIZE"] = "two";
  CHECK(contains(find("this process").problem, "WORLD_SIZE: expected a whole number"));
}

TEST_CASE_FIXTURE(Fixture, "findings as text and as JSON") {
  const Findings findings = {{"limits", "memory", "1 GiB"},
                             {"limits", "files", "7", "too few", "take more"},
                             {"folders", "runs", "/r", "", "look"}};
  CHECK(findings_text(findings) ==
        "limits\n  memory  1 GiB\n  files   7\n    wrong: too few\n    remedy: take more\n\nfolders\n  runs    /r\n    "
        "note: "
        "look\n\n1 thing is wrong\n");
  const auto json = parse_json<nlohmann::json>(json_text(findings_json(findings)));
  CHECK(json["wrong"] == 1);
  CHECK(json["findings"][1]["remedy"] == "take more");
  CHECK_FALSE(json["findings"][0].contains("problem"));
}

}  // namespace
}  // namespace mirrortrain::testing
