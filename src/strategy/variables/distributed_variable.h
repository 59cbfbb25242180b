#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/tensor_view.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

enum class WriteKind : std::uint8_t { kAssign, kAssignAdd };

/// A variable as the replicas see it: a copy each, or one that they share. Elements are float32, int32 or int64. The
/// memory belongs to somebody else; nothing here is allocated after construction but by `restore`. What each operation
/// means for each policy is the table of docs/distribution.md.
class DistributedVariable {
 public:
  /// `copies` has one entry per replica; entries are equal where the copies share storage, which they must not where
  /// the policy lets them differ. Throws Error for an illegal policy.
  DistributedVariable(std::string name, DType dtype, Shape shape, VariablePolicy policy,
                      std::vector<std::byte*> copies);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const VariablePolicy& policy() const { return policy_; }
  int replicas() const { return static_cast<int>(copies_.size()); }
  std::size_t bytes() const { return static_cast<std::size_t>(shape_.elements()) * size_of(dtype_); }

  /// A replica's own copy: what reading in that replica gives.
  TensorView copy(int replica) const { return {dtype_, shape_, data(replica)}; }
  /// Its memory alone.
  std::byte* data(int replica) const { return copies_[static_cast<std::size_t>(replica)]; }

  /// Each place where a copy is stored, once: replicas may share one.
  std::vector<std::span<std::byte>> storage() const;

  /// Every replica's write of the same step: `values` has one tensor of the variable's type per replica. on_write with
  /// an aggregation combines them first and applies the result to every copy; else each replica writes its own.
  void write_in_replicas(WriteKind kind, std::span<const std::byte* const> values) const;

  /// What reading outside the replicas gives, with sums in the replicas' order. Throws Error where that has no meaning.
  void read(std::byte* value) const;
  /// As read, but replica 0's copy where reading outside has no meaning: what evaluation and export take.
  void read_or_first(std::byte* value) const;

  /// From outside, whatever the policy: the total of an on_read x sum variable, else every copy, becomes `value`.
  void set(const std::byte* value) const;

  /// Puts back copies that were saved under a policy: one (of copies that were equal) or one per replica of that run.
  /// With the same policy and as many replicas every copy gets its own again, else all start from what reading them
  /// outside gave then.
  void restore(std::span<const std::byte* const> saved, const VariablePolicy& saved_policy) const;

 private:
  void combine(const VariablePolicy& policy, std::span<const std::byte* const> values, std::byte* result) const;

  std::string name_;
  DType dtype_;
  Shape shape_;
  VariablePolicy policy_;
  std::vector<std::byte*> copies_;
};

}  // namespace mirrortrain
