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

/// A variable as seen by the replicas: a copy each, or one that they share. Elements are float32, int32 or int64. The
/// memory is owned elsewhere; after construction, only `restore` allocates. docs/distribution.md has a table of each
/// operation's meaning for each policy.
class DistributedVariable {
 public:
  /// `copies` has one entry per replica; entries are equal if the copies share storage, which they must not if the
  /// policy lets them differ. Throws Error for an illegal policy.
  DistributedVariable(std::string name, DType dtype, Shape shape, VariablePolicy policy,
                      std::vector<std::byte*> copies);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const VariablePolicy& policy() const { return policy_; }
  int replicas() const { return static_cast<int>(copies_.size()); }
  std::size_t bytes() const { return static_cast<std::size_t>(shape_.elements()) * size_of(dtype_); }

  /// A replica's own copy: the result of reading in that replica.
  TensorView copy(int replica) const { return {dtype_, shape_, data(replica)}; }
  /// The copy's memory.
  std::byte* data(int replica) const { return copies_[static_cast<std::size_t>(replica)]; }

  /// The storage of all copies, each once: replicas may share one.
  std::vector<std::span<std::byte>> storage() const;

  /// The writes of all replicas in a step: `values` has one tensor of the variable's type per replica. on_write with an
  /// aggregation combines them first and applies the result to every copy; otherwise each replica writes its own.
  void write_in_replicas(WriteKind kind, std::span<const std::byte* const> values) const;

  /// The result of reading outside the replicas, with sums in the replicas' order. Throws Error if that has no meaning.
  void read(std::byte* value) const;
  /// Like `read`, but replica 0's copy if reading outside has no meaning: for evaluation and export.
  void read_or_first(std::byte* value) const;
  /// The same without a copy where the copies are equal by definition; else in `memory`.
  std::span<const std::byte> read_or_first(std::vector<std::byte>& memory) const;

  /// Writes from outside, with any policy: sets the total of an on_read x sum variable, or else every copy, to `value`.
  void set(const std::byte* value) const;

  /// Restores copies that were saved under a policy: one (if copies were equal) or one per replica of that run. With
  /// the same policy and number of replicas, every copy is restored from its own; otherwise all start from the value
  /// that reading them outside gave then.
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
