#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "strategy/placement.h"
#include "strategy/variables/mirror.h"

namespace mirrortrain {

/// The variables of a run: where its lanes compute, and in host memory for who fills, saves and reads them. Where lanes
/// compute in host memory, that is the same.
class Mirrors {
 public:
  /// `devices`: by lane. The numbers of replicas in `store` are filled in here. `model`, `devices` and `backend` must
  /// outlive it. Throws Error where a device has not enough memory.
  Mirrors(const Model& model, StoreOptions store, const UpdateOptions& update, const Placement& placement,
          std::span<Device* const> devices, const Backend& backend);

  /// The one that a lane computes on.
  Mirror& of_lane(int lane) const { return *mirrors_[apart() ? static_cast<std::size_t>(lane) : 0]; }
  /// Whether every lane has a memory of its own, apart from the host's.
  bool apart() const { return host_variables_ != nullptr; }

  /// Before the lanes begin with a step; see WeightUpdate::begin. The host's variables are behind from here on.
  StepParams begin_update(const UpdateStep& step);

  /// The variables of all replicas in host memory, which may be behind.
  const VariableStore& host() const { return apart() ? *host_variables_ : mirrors_[0]->variables; }
  bool host_is_behind() const { return host_is_behind_; }
  /// Brings them up to date. `streams`: the lanes', with nothing on its way.
  void bring_to_host(std::span<Stream* const> streams);

  // On each lane, with its stream; they do nothing where the lanes compute in host memory.

  /// Takes over what was written to the host's variables.
  void take_from_host(int lane, Stream& stream) const;
  /// Takes over what evaluation reads where that is no replica's own copy.
  void take_evaluation_copies(int lane, Stream& stream) const;

  std::size_t bytes() const;

 private:
  std::unique_ptr<Device> host_;
  std::unique_ptr<VariableStore> host_variables_;  ///< null where the one mirror is in host memory
  std::vector<std::unique_ptr<Mirror>> mirrors_;   ///< one for all lanes, or one for each
  bool host_is_behind_ = false;
};

}  // namespace mirrortrain
