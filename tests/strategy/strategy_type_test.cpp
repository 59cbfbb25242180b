#include "strategy/strategy_type.h"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

using namespace mirrortrain;

TEST_CASE("each type of strategy has the declaration of its name, and no name is another's") {
  std::set<std::string_view> names;
  for (const strategies::Declaration* const declared : kStrategyTypes) {
    const auto type = config::value_named<StrategyType>(declared->name);
    REQUIRE(type.has_value());
    CHECK(&declaration_of(*type) == declared);
    CHECK(config::name_of(*type) == declared->name);
    CHECK(names.insert(declared->name).second);
  }
  CHECK(declaration_of(StrategyType::kOneDevice).name == "one_device");
  CHECK(declaration_of(StrategyType::kMirrored).name == "mirrored");
  CHECK(declaration_of(StrategyType::kMultiWorkerMirrored).name == "multi_worker_mirrored");
  CHECK(declaration_of(StrategyType::kParameterServer).name == "parameter_server");
}

TEST_CASE("a type of strategy refuses what its abilities leave no meaning for") {
  for (const strategies::Declaration* const declared : kStrategyTypes) {
    CAPTURE(declared->name);
    const strategies::Refusals& refuses = declared->refuses;
    CHECK(refuses.server_keys.empty() == declared->has_servers);
    CHECK(refuses.several_devices.empty() != declared->has_one_device);
    CHECK(refuses.several_replicas.empty() != declared->has_one_device);
    // Workers that are lost leave others that are in sync with each other.
    CHECK(refuses.elastic.empty() == (declared->on_cluster && declared->has_replicas_in_sync));
    // No process has all gradients of a step.
    CHECK(refuses.accumulation.empty() != declared->has_servers);
    CHECK(refuses.gradient_logging.empty() != declared->has_servers);
    CHECK_FALSE((declared->has_servers && declared->has_replicas_in_sync));
    CHECK_FALSE((declared->has_one_device && declared->on_cluster));
  }
}

TEST_CASE("what commands take whatever the configuration says has the abilities that they need") {
  CHECK(declaration_of(kSingleReplica).has_one_device);
  CHECK(declaration_of(kReplicasInProcess).has_replicas_in_sync);
  CHECK_FALSE(declaration_of(kReplicasInProcess).on_cluster);
  CHECK(declaration_of(kWorkersInSync).has_replicas_in_sync);
  CHECK(declaration_of(kWorkersInSync).on_cluster);
  CHECK(declaration_of(kWorkersWithServers).has_servers);
}
