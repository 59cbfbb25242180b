// The variables by which launchers say which task of a cluster a process is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "cluster/discover.h"
#include "cluster/token.h"
#include "doctor/doctor.h"

namespace mirrortrain::doctor {
namespace {

/// Those whose values are shown. All others of the families may hold secrets, as SLURM_JWT does.
constexpr auto kShown = std::to_array<std::string_view>({
    "TF_CONFIG",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE",
    "TORCHELASTIC_RESTART_COUNT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_PARTITION",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_MEM_PER_NODE",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_STEP_ID",
    "SLURM_STEPID",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_DISTRIBUTION",
    "SM_HOSTS",
    "SM_CURRENT_HOST",
    "MIRRORTRAIN_PORT",
    "MIRRORTRAIN_HOST",
    "MIRRORTRAIN_LAUNCHED",
    "MIRRORTRAIN_LOCAL_RANK",
    "MIRRORTRAIN_LOCAL_SIZE",
    "CUDA_VISIBLE_DEVICES",
    "NCCL_SOCKET_IFNAME",
    "NCCL_IB_DISABLE",
    "NCCL_DEBUG",
    "OMP_NUM_THREADS",
});

/// Only that they are set is said of others whose names begin so.
constexpr auto kFamilies = std::to_array<std::string_view>(
    {"SLURM_", "OMPI_", "PMIX_", "PMI_", "TORCHELASTIC_", "SM_", "MIRRORTRAIN_", "NCCL_"});

constexpr std::string_view kOurs = "MIRRORTRAIN_";

bool is_shown(std::string_view name) { return std::ranges::find(kShown, name) != kShown.end(); }

bool is_of_family(std::string_view name) {
  return std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

/// Our variables that nothing reads: their names are mistyped.
Finding unknown(const std::string& name) {
  Finding finding{"cluster", name, "set"};
  finding.problem = "the program reads no variable of this name";
  std::string names = kTokenVariable;
  for (const std::string_view shown : kShown) {
    if (shown.starts_with(kOurs)) names += fmt::format(", {}", shown);
  }
  finding.remedy = fmt::format("unset it; there are {}", names);
  return finding;
}

Finding token(const Environment& environment) {
  Finding finding{"cluster", kTokenVariable, "set; it is not shown"};
  try {
    token_of(environment);
  } catch (const UsageError&) {  // whose text could have a part of it
    finding.problem = "a token is one line of printable ASCII characters";
    finding.remedy = "set one, as openssl rand -hex 32 makes it, to the same text for every task";
  }
  return finding;
}

/// Variables that mean nothing alone.
void find_halves(const Environment& environment, Findings& findings) {
  const std::array<std::array<const char*, 2>, 3> kPairs = {
      {{"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}}};
  for (const auto& [rank, size] : kPairs) {
    const bool has_rank = environment(rank).has_value(), has_size = environment(size).has_value();
    if (has_rank == has_size) continue;
    findings.push_back(
        {"cluster", has_rank ? rank : size, "set alone",
         fmt::format("{} is not set, so that this process does not know of others", has_rank ? size : rank),
         "set both, or unset it"});
  }
}

/// What the variables are understood as.
Finding meaning(const Environment& environment) {
  Finding finding{"cluster", "this process"};
  try {
    const auto cluster = discover_cluster({}, environment);
    finding.value =
        cluster ? fmt::format("{}, of {} tasks, by {}", cluster->task.text(), cluster->tasks().size(), cluster->source)
                : "of no cluster";
    const bool is_in_job = environment("SLURM_JOB_ID").has_value();
    if (!cluster && is_in_job)
      finding.remedy = "in a batch script of SLURM: srun mirrortrain ... starts the job's tasks";
  } catch (const UsageError& error) {
    finding.value = "unknown";
    finding.problem = error.what();
    finding.remedy = "correct the variables, or unset them to train on this machine alone";
  }
  return finding;
}

}  // namespace

Findings examine_variables(const Surroundings& surroundings) {
  const Environment& environment = surroundings.environment;
  Findings findings = {meaning(environment)};
  find_halves(environment, findings);
  std::string others;
  for (const std::string& name : surroundings.variables) {
    if (name == kTokenVariable) {
      findings.push_back(token(environment));
    } else if (is_shown(name)) {
      findings.push_back({"cluster", name, environment(name).value_or("")});
    } else if (name.starts_with(kOurs)) {
      findings.push_back(unknown(name));
    } else if (is_of_family(name)) {
      others += (others.empty() ? "" : " ") + name;
    }
  }
  if (!others.empty()) findings.push_back({"cluster", "set, not shown", others});
  return findings;
}

Findings examine(const Surroundings& surroundings) {
  Findings all;
  for (const auto& part : {examine_program, examine_libraries, examine_processor, examine_gpus, examine_limits,
                           examine_folders, examine_variables}) {
    const Findings findings = part(surroundings);
    all.insert(all.end(), findings.begin(), findings.end());
  }
  return all;
}

}  // namespace mirrortrain::doctor
