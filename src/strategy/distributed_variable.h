#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace mirrortrain {

enum class Synchronization : std::uint8_t { kNone, kAuto, kOnWrite, kOnRead };
enum class Aggregation : std::uint8_t { kNone, kSum, kMean, kOnlyFirstReplica };

/// What a variable's copies mean, resolved (never auto).
struct VariablePolicy {
  Synchronization synchronization = Synchronization::kOnWrite;
  Aggregation aggregation = Aggregation::kMean;

  /// Whether replicas may hold different values. Copies that are equal by definition share storage on a device.
  bool copies_can_differ() const {
    return synchronization != Synchronization::kOnWrite || aggregation == Aggregation::kNone;
  }
};

/// A variable as the replicas see it: a copy each, or one that they share. The memory belongs to somebody else.
class DistributedVariable {
 public:
  /// `copies` has one entry per replica; entries are equal where the copies share storage.
  DistributedVariable(std::string name, Shape shape, VariablePolicy policy, std::vector<float*> copies);

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  const VariablePolicy& policy() const { return policy_; }
  int replicas() const { return static_cast<int>(copies_.size()); }

  /// A replica's own copy.
  std::span<float> copy(int replica) const;

  /// From outside the replicas: every copy becomes `value`.
  void assign(std::span<const float> value) const;

  /// From outside the replicas: the mean of the copies for on_read x mean, summed in the replicas' order; else the
  /// first copy.
  void read(std::span<float> value) const;

 private:
  std::string name_;
  Shape shape_;
  VariablePolicy policy_;
  std::vector<float*> copies_;
};

}  // namespace mirrortrain
