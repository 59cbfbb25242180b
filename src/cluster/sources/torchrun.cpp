#include <fmt/format.h>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/cluster_rules.h"
#include "cluster/sources/local_place.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

/// The port on which the chief listens.
long chief_port(const Environment& environment) {
  const long master = required_number(environment, "MASTER_PORT", 1, 65535, "which torchrun sets beside RANK");
  if (const auto port = number_in(environment, "MIRRORTRAIN_PORT", 1, 65535)) return *port;
  if (environment("TORCHELASTIC_USE_AGENT_STORE") != "True") return master;
  if (master == 65535) {
    throw UsageError(
        "MASTER_PORT: torchrun's agent listens on 65535, and no port is above it; set MIRRORTRAIN_PORT to a free "
        "port of the first machine, on all machines");
  }
  return master + 1;
}

}  // namespace

std::optional<ClusterSpec> cluster_of_torchrun(const Environment& environment) {
  const auto is_set = [&](const char* name) { return !environment(name).value_or("").empty(); };
  if (!is_set("RANK") || !is_set("WORLD_SIZE")) return std::nullopt;
  const long size = *number_in(environment, "WORLD_SIZE", 1, kMostTasks);
  ClusterSpec cluster;
  cluster.source = "torchrun";
  cluster.task.index = static_cast<int>(*number_in(environment, "RANK", 0, size - 1));
  const std::string host = required_text(environment, "MASTER_ADDR", "which torchrun sets beside RANK");
  const std::string address = Address{host, static_cast<int>(chief_port(environment))}.text();
  if (const std::string error = address_error(address); !error.empty()) {
    throw UsageError(fmt::format("MASTER_ADDR: expected a host, found \"{}\"; {}", host, "name the first machine"));
  }
  cluster.workers.resize(static_cast<std::size_t>(size));
  cluster.workers[0] = address;
  cluster.local = local_place(environment, "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  return cluster;
}

}  // namespace mirrortrain
