#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/codec.h"

namespace mirrortrain {

/// How gradients are added across replicas: the key `strategy.cross_device_ops`, and the algorithms of
/// `bench-allreduce`. docs/distribution.md describes each.
enum class CrossDeviceOps : std::uint8_t { kAuto, kNccl, kRing, kHierarchicalCopy, kReductionToOneDevice };

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::CrossDeviceOps> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, CrossDeviceOps>>({
      {"auto", CrossDeviceOps::kAuto},
      {"nccl", CrossDeviceOps::kNccl},
      {"ring", CrossDeviceOps::kRing},
      {"hierarchical_copy", CrossDeviceOps::kHierarchicalCopy},
      {"reduction_to_one_device", CrossDeviceOps::kReductionToOneDevice},
  });
};
