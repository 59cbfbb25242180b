#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "config/section.h"

namespace mirrortrain {

/// When the copies of a variable are synchronized.
enum class Synchronization : std::uint8_t {
  kNone,     ///< never: each replica owns its copy
  kAuto,     ///< the strategy's default: on_write
  kOnWrite,  ///< a write in a replica is first reduced over the replicas, then applied to every copy; reads are local
  kOnRead,   ///< a write stays in its replica; reading outside the replicas reduces the copies
};

/// How the replicas' values are aggregated.
enum class Aggregation : std::uint8_t { kNone, kSum, kMean, kOnlyFirstReplica };

/// As written in a configuration: "on_read", "only_first_replica".
std::string_view name_of(Synchronization synchronization);
std::string_view name_of(Aggregation aggregation);

/// A variable's resolved policy (never auto).
struct VariablePolicy {
  Synchronization synchronization = Synchronization::kOnWrite;
  Aggregation aggregation = Aggregation::kMean;

  /// Whether replicas may hold different values. Copies that are equal by definition share storage on a device.
  bool copies_can_differ() const {
    return synchronization != Synchronization::kOnWrite || aggregation == Aggregation::kNone;
  }
  /// Whether reading from outside the replicas has a meaning.
  bool readable_outside() const {
    return synchronization == Synchronization::kOnWrite || aggregation != Aggregation::kNone;
  }
  /// "on_write x mean"
  std::string text() const;

  friend bool operator==(const VariablePolicy&, const VariablePolicy&) = default;
};

/// Why a variable of this kind cannot have this policy, as written, and which ones it can have; empty if it can.
std::string policy_error(const VariablePolicy& written, DType dtype, bool trainable);

/// The policy without auto. A strategy with one plain copy has nothing to synchronize.
VariablePolicy resolved(const VariablePolicy& written, bool one_plain_copy);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::Synchronization> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, Synchronization>>({
      {"none", Synchronization::kNone},
      {"auto", Synchronization::kAuto},
      {"on_write", Synchronization::kOnWrite},
      {"on_read", Synchronization::kOnRead},
  });
};

template <>
struct mirrortrain::config::EnumNames<mirrortrain::Aggregation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, Aggregation>>({
      {"none", Aggregation::kNone},
      {"sum", Aggregation::kSum},
      {"mean", Aggregation::kMean},
      {"only_first_replica", Aggregation::kOnlyFirstReplica},
  });
};
