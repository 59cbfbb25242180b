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

/// Enqueues `work` on a HostStream, or does it at once for a CPU's stream.
inline void run_on(Stream& stream, std::function<void()> work) {
  if (auto* const host = dynamic_cast<HostStream*>(&stream)) {
    host->run(std::move(work));
  } else {
    work();
  }
}

}  // namespace mirrortrain
