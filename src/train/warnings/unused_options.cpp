#include "train/warnings/unused_options.h"

#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

namespace mirrortrain {
namespace {

bool is_given(const ClusterOptions& cluster) {
  return cluster.chief || cluster.evaluator || !cluster.workers.empty() || !cluster.ps.empty() || cluster.task ||
         cluster.token_file || cluster.tls;
}

}  // namespace

void warn_of_unused_options(const CheckedConfiguration& checked, config::Errors& errors) {
  const StrategyOptions& strategy = checked.values().strategy;
  const strategies::Declaration& type = strategy.declaration();
  const auto warn = [&](const std::string& key, const std::string& message) {
    errors.warn(checked.place_of(key), key, message);
  };
  if (!type.on_cluster && is_given(strategy.cluster)) {
    warn("strategy.cluster", fmt::format("is not used: {} trains in one process; use type: {}, or leave it out",
                                         type.name, declaration_of(kWorkersInSync).name));
  }
  if (strategy.cpu_replicas && std::holds_alternative<std::vector<DeviceId>>(strategy.devices)) {
    warn("strategy.cpu_replicas",
         "is for `devices: all`; of listed devices each has a replica, or replicas says how many there are; leave it "
         "out");
  }
}

}  // namespace mirrortrain
