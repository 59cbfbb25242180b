#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mirrortrain {

// What a communicator among processes needs from its caller.

/// A key-value store for rendezvous: one rank puts a value, and the others wait for it.
struct RendezvousStore {
  std::function<void(const std::string& key, const std::string& value)> put;
  std::function<std::string(const std::string& key)> get;  ///< waits for it
  std::function<std::string()> failure = {};               ///< why the group has failed meanwhile; may be empty
};

/// Callbacks that observe a rank's operations. Each may be empty.
struct OperationWatch {
  std::function<void(std::string_view what)> begin;  ///< an operation on `what` begins to wait for the other ranks
  std::function<void()> end;                         ///< the operation is done
  /// An operation failed with `error`: returns the message, which may name the rank that caused it.
  std::function<std::string(const std::string& error)> explain;
};

}  // namespace mirrortrain
