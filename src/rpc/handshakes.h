#pragma once

#include <string>

#include "rpc/coordination.pb.h"

namespace mirrortrain::rpc {

/// A task's handshake, and how to name it in messages.
struct Introduced {
  const Hello& hello;
  std::string name;
};

/// How a task's handshake differs from the chief's, with the first different key; empty if they are equal.
std::string mismatch(const Introduced& task, const Introduced& chief);

}  // namespace mirrortrain::rpc
