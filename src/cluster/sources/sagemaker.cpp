#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "cluster/address.h"
#include "cluster/cluster_rules.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

constexpr long kPort = 2223;  // TensorFlow's SageMakerClusterResolver has it too

std::vector<std::string> sorted_hosts(const std::string& text) {
  const auto json = parse_json_if_valid<nlohmann::json>(text);
  const auto is_text = [](const nlohmann::json& one) { return one.is_string() && !one.get<std::string>().empty(); };
  if (!json.is_array() || json.empty() || json.size() > kMostTasks || !std::ranges::all_of(json, is_text)) {
    throw UsageError(
        fmt::format("SM_HOSTS: expected a JSON list of hosts, as [\"algo-1\", \"algo-2\"], found {}", text));
  }
  auto hosts = json.get<std::vector<std::string>>();
  std::ranges::sort(hosts);
  return hosts;
}

}  // namespace

std::optional<ClusterSpec> cluster_of_sagemaker(const Environment& environment) {
  const std::string listed = environment("SM_HOSTS").value_or("");
  if (listed.empty()) return std::nullopt;
  const std::vector<std::string> hosts = sorted_hosts(listed);
  const std::string own = required_text(environment, "SM_CURRENT_HOST", "which SageMaker sets beside SM_HOSTS");
  const auto found = std::ranges::find(hosts, own);
  if (found == hosts.end()) {
    throw UsageError(fmt::format("SM_CURRENT_HOST: expected one of SM_HOSTS {}, found \"{}\"", listed, own));
  }
  const long port = number_in(environment, "MIRRORTRAIN_PORT", 1, 65535).value_or(kPort);
  ClusterSpec cluster;
  cluster.source = "SM_HOSTS";
  cluster.task.index = static_cast<int>(found - hosts.begin());
  for (const std::string& host : hosts) {
    cluster.workers.push_back(Address{host, static_cast<int>(port)}.text());
    if (const std::string error = address_error(cluster.workers.back()); !error.empty()) {
      throw UsageError(fmt::format("SM_HOSTS: {}", error));
    }
  }
  return cluster;
}

}  // namespace mirrortrain
