#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/mpi/session.h"

namespace mirrortrain::mpi {

/// A message that notifies the other ranks of a group why it has failed. Any rank may send one, and each reads the
/// first that it receives.
class FailureNote {
 public:
  /// Uses its own communicator; throws like own_communicator.
  FailureNote(std::shared_ptr<Session> session, double timeout_seconds);
  ~FailureNote();
  FailureNote(const FailureNote&) = delete;
  FailureNote& operator=(const FailureNote&) = delete;

  /// Sends it to every other rank, once; waits up to a fifth of a second for a rank that does not receive it.
  void send(const std::string& reason);
  /// The reason in a note received since the last call, truncated if long. Called with the lock of MPI calls held.
  std::optional<std::string> look();

 private:
  using Text = std::array<char, 1024>;  ///< ended by 0

  const std::shared_ptr<Session> session_;
  MPI_Comm messages_;
  Text received_{}, sent_{};
  MPI_Request receipt_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> requests_;
  bool is_over_ = false;
};

}  // namespace mirrortrain::mpi
