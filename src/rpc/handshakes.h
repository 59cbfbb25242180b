#pragma once

#include <string>

#include "rpc/coordination.pb.h"

namespace mirrortrain::rpc {

/// A task's handshake, and how to name it in messages.
struct Introduced {
  const Hello& hello;
  std::string name;
};

/// What of a task's handshake is not the chief's, with the first key that differs; empty where all is the same.
std::string mismatch(const Introduced& task, const Introduced& chief);

}  // namespace mirrortrain::rpc
