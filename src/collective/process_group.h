#pragma once

#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirrortrain {

/// What carries the operations of processes, as the log calls it.
namespace transport {
inline constexpr std::string_view kSharedMemory = "shared memory", kGloo = "gloo", kMpi = "MPI", kNccl = "NCCL";
}

// What a communicator among processes needs from its caller.

/// A key-value store for rendezvous: one rank puts a value, and the others wait for it.
struct RendezvousStore {
  std::function<void(const std::string& key, const std::string& value)> put;
  std::function<std::string(const std::string& key)> get;  ///< waits for it
  /// All of a group's ranks call it: returns their values, by rank. `values`: one for all ranks, or one for each.
  std::function<std::vector<std::string>(const std::string& key, int rank, int size,
                                         std::span<const std::string> values)>
      gather;
  std::function<std::string()> failure = {};  ///< why the group has failed meanwhile; may be empty
};

/// Other ranks of a group cannot be reached, or cannot reach this one.
struct Unreachable : std::runtime_error {
  Unreachable(const std::string& reason, std::vector<int> unreached)
      : std::runtime_error(reason), ranks(std::move(unreached)) {}
  std::vector<int> ranks;
};

/// Callbacks that observe a rank's operations. Each may be empty.
struct OperationWatch {
  std::function<void(std::string_view what)> begin;  ///< an operation on `what` begins to wait for the other ranks
  std::function<void()> end;                         ///< the operation is done
  /// An operation failed with `error`: returns the message, which may name the rank that caused it. `unreached`: the
  /// ranks that are known not to reach this one, or not to be reached.
  std::function<std::string(const std::string& error, std::span<const int> unreached)> explain;

  /// `message` of a failure, explained with the ranks that `error` knows to be unreachable.
  std::string explained(const std::string& message, const std::exception& error) const {
    if (!explain) return message;
    const auto* const unreachable = dynamic_cast<const Unreachable*>(&error);
    return explain(message, unreachable != nullptr ? std::span<const int>(unreachable->ranks) : std::span<const int>());
  }
};

}  // namespace mirrortrain
