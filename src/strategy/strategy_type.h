#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/codec.h"
#include "strategy/types/mirrored_type.h"
#include "strategy/types/multi_worker_mirrored_type.h"
#include "strategy/types/one_device_type.h"
#include "strategy/types/parameter_server_type.h"

namespace mirrortrain {

enum class StrategyType : std::uint8_t { kOneDevice, kMirrored, kMultiWorkerMirrored, kParameterServer };

/// The declarations, in the order of StrategyType.
inline constexpr auto kStrategyTypes = std::to_array<const strategies::Declaration*>({
    &strategies::kOneDevice,
    &strategies::kMirrored,
    &strategies::kMultiWorkerMirrored,
    &strategies::kParameterServer,
});

constexpr const strategies::Declaration& declaration_of(StrategyType type) {
  return *kStrategyTypes[static_cast<std::size_t>(type)];
}

// What commands train or compute with, whatever type a configuration has, and what their remedies name.
inline constexpr StrategyType kSingleReplica = StrategyType::kOneDevice, kReplicasInProcess = StrategyType::kMirrored,
                              kWorkersInSync = StrategyType::kMultiWorkerMirrored,
                              kWorkersWithServers = StrategyType::kParameterServer;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::StrategyType> {
  static constexpr auto names = [] {
    std::array<std::pair<std::string_view, StrategyType>, kStrategyTypes.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {kStrategyTypes[i]->name, static_cast<StrategyType>(i)};
    return all;
  }();
  static constexpr auto aliases = [] {
    std::array<std::pair<std::string_view, std::string_view>, kStrategyTypes.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {kStrategyTypes[i]->name, kStrategyTypes[i]->aliases};
    return all;
  }();
};
