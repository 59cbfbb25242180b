#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mirrortrain {

// What a communicator among processes takes from who runs them.

/// How the ranks find each other: values that one leaves and the others wait for.
struct RendezvousStore {
  std::function<void(const std::string& key, const std::string& value)> put;
  std::function<std::string(const std::string& key)> get;  ///< waits for it
};

/// Who watches a rank's operations from outside. Each may be empty.
struct OperationWatch {
  std::function<void(std::string_view what)> begin;  ///< an operation on `what` begins to wait for the other ranks
  std::function<void()> end;                         ///< and is done
  /// An operation failed with `error`: returns the message, which may name the rank that is to blame.
  std::function<std::string(const std::string& error)> explain;
};

}  // namespace mirrortrain
