#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "device/device.h"
#include "kernels/kernel.h"
#include "strategy/distributed_variable.h"

namespace mirrortrain {

/// The derived copies of one memory: one per variable and form, shared by every program and replica that reads it.
class DerivedCopies {
 public:
  explicit DerivedCopies(Device& device) : device_(&device) {}

  /// The copy's memory; made at the first request. `variable` is shared by all replicas and outlives this.
  std::byte* request(std::size_t variable_index, const DistributedVariable& variable, const DerivedForm& form);

  /// Makes this lane's part of the copies anew from the masters. The lanes together make all.
  void refresh(Stream& stream, int lane, int lanes);

  bool empty() const { return copies_.empty(); }
  std::size_t bytes() const;

 private:
  struct Copy {
    DerivedForm form;
    TensorView canonical;
    Buffer memory;
  };
  Device* device_;
  std::deque<Copy> copies_;
  std::map<std::pair<std::size_t, std::string>, Copy*> by_key_;
};

}  // namespace mirrortrain
