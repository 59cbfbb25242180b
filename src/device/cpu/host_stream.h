#pragma once

#include <functional>

#include "device/device.h"

namespace mirrortrain {

/// A stream whose work the host does, so that it takes any function.
class HostStream : public Stream {
 public:
  /// Calls `work` after everything enqueued before; again and again where it is captured.
  virtual void run(std::function<void()> work) = 0;
};

}  // namespace mirrortrain
