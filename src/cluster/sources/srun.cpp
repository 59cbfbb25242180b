#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/cluster_rules.h"
#include "cluster/sources/local_place.h"
#include "cluster/sources/slurm_lists.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

// Step numbers from here on are reserved by SLURM: the batch script, an interactive shell and similar.
constexpr long kSpecialSteps = 0xfffffff0L;

constexpr long kFirstPort = 12000, kPorts = 20000;  // below the ephemeral ports, from 32768 on
constexpr const char* kBesideStep = "which srun sets beside SLURM_STEP_ID";

/// A task's place: its node, and its index among the node's tasks.
struct Seat {
  std::size_t node = 0;
  int number = 0;
};

/// The tasks' places in order: node after node (block), or in turn over nodes with free places (cyclic).
std::vector<Seat> seats(const std::vector<int>& tasks_per_node, bool cyclic) {
  std::vector<Seat> seats;
  if (!cyclic) {
    for (std::size_t node = 0; node < tasks_per_node.size(); ++node) {
      for (int number = 0; number < tasks_per_node[node]; ++number) seats.push_back({node, number});
    }
    return seats;
  }
  const int most = *std::ranges::max_element(tasks_per_node);
  for (int number = 0; number < most; ++number) {
    for (std::size_t node = 0; node < tasks_per_node.size(); ++node) {
      if (number < tasks_per_node[node]) seats.push_back({node, number});
    }
  }
  return seats;
}

bool is_cyclic(const Environment& environment, std::size_t nodes_of_step) {
  if (nodes_of_step == 1) return false;
  const std::string distribution = environment("SLURM_DISTRIBUTION").value_or("block");
  const std::string nodes = distribution.substr(0, distribution.find_first_of(":,="));
  if (nodes == "cyclic" || nodes == "block") return nodes == "cyclic";
  throw UsageError(fmt::format(
      "SLURM_DISTRIBUTION: expected block or cyclic, by which a task knows the others' nodes, found \"{}\"; start with "
      "srun --distribution=block",
      distribution));
}

long base_port(const Environment& environment, long step) {
  if (const auto port = number_in(environment, "MIRRORTRAIN_PORT", 1, 65535)) return *port;
  const long job = required_number(environment, "SLURM_JOB_ID", 0, 0xffffffffL, kBesideStep);
  return kFirstPort + (job + 997 * step) % kPorts;
}

std::string address_of(const Seat& seat, const std::vector<std::string>& nodes, long base) {
  const long port = base + seat.number;
  if (port > 65535) {
    throw UsageError(
        fmt::format("MIRRORTRAIN_PORT: expected at most {}, so that each of a node's tasks has a port, "
                    "found {}",
                    65535 - seat.number, base));
  }
  return Address{nodes[seat.node], static_cast<int>(port)}.text();
}

/// The step's number; nullopt outside a step started by srun.
std::optional<long> step_number(const Environment& environment) {
  const char* name = environment("SLURM_STEP_ID") ? "SLURM_STEP_ID" : "SLURM_STEPID";
  const auto step = number_in(environment, name, 0, 0xffffffffL);
  return step && *step < kSpecialSteps ? step : std::nullopt;
}

}  // namespace

std::optional<ClusterSpec> cluster_of_srun(const Environment& environment) {
  const std::optional<long> step = step_number(environment);
  if (!step) return std::nullopt;
  const long size = required_number(environment, "SLURM_STEP_NUM_TASKS", 1, kMostTasks, kBesideStep);
  ClusterSpec cluster;
  cluster.source = "srun";
  cluster.task.index = static_cast<int>(required_number(environment, "SLURM_PROCID", 0, size - 1, kBesideStep));

  const auto nodes =
      expand_host_list(required_text(environment, "SLURM_STEP_NODELIST", kBesideStep), "SLURM_STEP_NODELIST");
  const std::string per_node = required_text(environment, "SLURM_STEP_TASKS_PER_NODE", kBesideStep);
  const auto counts = expand_counts(per_node, "SLURM_STEP_TASKS_PER_NODE");
  if (counts.size() != nodes.size() || std::accumulate(counts.begin(), counts.end(), 0L) != size) {
    throw UsageError(fmt::format(
        "SLURM_STEP_TASKS_PER_NODE: expected {} tasks (SLURM_STEP_NUM_TASKS) on {} nodes (SLURM_STEP_NODELIST), found "
        "\"{}\"; were these variables set by different steps?",
        size, nodes.size(), per_node));
  }
  const std::vector<Seat> places = seats(counts, is_cyclic(environment, nodes.size()));
  const long base = base_port(environment, *step);
  for (const Seat& seat : places) cluster.workers.push_back(address_of(seat, nodes, base));

  const Seat& seat = places[static_cast<std::size_t>(cluster.task.index)];
  cluster.local = local_place_of_srun(environment, seat.number, counts[seat.node]);
  const auto own = static_cast<long>(seat.node);
  const auto node = number_in(environment, "SLURM_NODEID", 0, kMostTasks);
  if (node && *node != own) {
    throw UsageError(fmt::format(
        "SLURM_NODEID: expected {}, where task {} is by SLURM_STEP_TASKS_PER_NODE and SLURM_DISTRIBUTION, found {}; "
        "start with srun --distribution=block",
        own, cluster.task.index, *node));
  }
  return cluster;
}

}  // namespace mirrortrain
