#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor_view.h"
#include "device/device.h"
#include "kernels/kernel.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The derived copies in one memory: one for each copy of a variable and form, shared by all programs and replicas that
/// read it.
class DerivedCopies {
 public:
  /// `rounding`: the variables whose updates refresh their rounded copies; null if none do. Both must outlive it.
  DerivedCopies(Device& device, VariableStore* rounding) : device_(&device), rounding_(rounding) {}

  /// The derived copy's memory, allocated at the first request. `canonical` must outlive this. `changes`: whether steps
  /// change the variable.
  std::byte* request(const TensorView& canonical, const DerivedForm& form, bool changes = true);

  /// The copy in the form of this key, which whoever asks refreshes after a step; null if none was requested.
  std::byte* refreshed_by_update(const std::byte* canonical, const std::string& key);

  /// The copies of these masters, requested later, wait for `refresh_of` when a step has changed them. Called before
  /// the first request.
  void hold_back(std::span<const float> masters);

  /// Recomputes this lane's part of the copies from the masters; the lanes together recompute all. `updated`: since the
  /// last time, only a step has changed the masters: without those that are held back.
  void refresh(Stream& stream, int lane, int lanes, bool updated);
  /// The same for copies that are held back, of masters within these.
  void refresh_of(std::span<const float> masters, Stream& stream, int lane, int lanes);

  std::size_t bytes() const;

 private:
  struct Copy {
    DerivedForm form;
    TensorView canonical;
    Buffer memory;
    std::byte* place = nullptr;  ///< in `memory`, or the memory that updates refresh
    bool changes = true;         ///< by steps
    bool is_held_back = false, is_by_update = false;
  };
  Device* device_;
  VariableStore* rounding_;
  std::vector<std::span<const float>> held_back_;
  std::deque<Copy> copies_;
  std::map<std::pair<const std::byte*, std::string>, Copy*> by_key_;
};

}  // namespace mirrortrain
