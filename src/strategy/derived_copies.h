#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/tensor_view.h"
#include "device/device.h"
#include "kernels/kernel.h"

namespace mirrortrain {

/// The derived copies of one memory: one per copy of a variable and form, shared by every program and replica that
/// reads it.
class DerivedCopies {
 public:
  explicit DerivedCopies(Device& device) : device_(&device) {}

  /// The derived copy's memory; made at the first request. `canonical` outlives this.
  std::byte* request(const TensorView& canonical, const DerivedForm& form);

  /// Makes this lane's part of the copies anew from the masters. The lanes together make all.
  void refresh(Stream& stream, int lane, int lanes);

  std::size_t bytes() const;

 private:
  struct Copy {
    DerivedForm form;
    TensorView canonical;
    Buffer memory;
  };
  Device* device_;
  std::deque<Copy> copies_;
  std::map<std::pair<const std::byte*, std::string>, Copy*> by_key_;
};

}  // namespace mirrortrain
