#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/mpi/session.h"

namespace mirrortrain::mpi {

/// A message that notifies the other ranks of a group why it has failed. Any rank may send one, and each reads the first
/// that it gets.
class FailureNote {
 public:
  /// With messages of its own; throws like own_communicator.
  FailureNote(std::shared_ptr<Session> session, double timeout_seconds);
  ~FailureNote();
  FailureNote(const FailureNote&) = delete;
  FailureNote& operator=(const FailureNote&) = delete;

  /// Sends it to every other rank, once; a rank that does not take it is waited for for a fifth of a second.
  void send(const std::string& reason);
  /// The reason in one that has come since the last look, cut where it was long. Called with MPI to itself.
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
