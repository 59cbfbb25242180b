#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/tensor_view.h"
#include "device/device.h"
#include "kernels/kernel.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The derived copies of one memory: one per copy of a variable and form, shared by every program and replica that
/// reads it.
class DerivedCopies {
 public:
  /// `rounding`: the variables whose updates refresh their rounded copies; null where none do. Both must outlive it.
  DerivedCopies(Device& device, VariableStore* rounding) : device_(&device), rounding_(rounding) {}

  /// The derived copy's memory; made at the first request. `canonical` outlives this. `changes`: whether steps change
  /// the variable.
  std::byte* request(const TensorView& canonical, const DerivedForm& form, bool changes = true);

  /// Makes this lane's part of the copies anew from the masters; the lanes together make all. `updated`: a step
  /// was all that changed them since the last time.
  void refresh(Stream& stream, int lane, int lanes, bool updated);

  std::size_t bytes() const;

 private:
  struct Copy {
    DerivedForm form;
    TensorView canonical;
    Buffer memory;
    std::byte* place = nullptr;  ///< in `memory`, or where updates refresh it
    bool changes = true;         ///< by steps
  };
  Device* device_;
  VariableStore* rounding_;
  std::deque<Copy> copies_;
  std::map<std::pair<const std::byte*, std::string>, Copy*> by_key_;
};

}  // namespace mirrortrain
