#pragma once

#include <vector>

#include "base/descriptor.h"

namespace mirrortrain::launch {

/// Reserves ports of 127.0.0.1 while it lives. A server that sets SO_REUSEADDR, as gRPC's do, can listen on them: Linux
/// lets it share an address with a socket that has also set it and does not listen.
class LoopbackPorts {
 public:
  /// Throws Error if none are free.
  explicit LoopbackPorts(int count);
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::vector<Descriptor> sockets_;
  std::vector<int> numbers_;
};

}  // namespace mirrortrain::launch
