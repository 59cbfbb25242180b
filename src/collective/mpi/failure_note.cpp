#include "collective/mpi/failure_note.h"

#include "collective/mpi/calls.h"

namespace mirrortrain::mpi {

FailureNote::FailureNote(std::shared_ptr<Session> session, double timeout_seconds)
    : session_(std::move(session)),
      messages_(own_communicator(*session_, timeout_seconds)),
      requests_(static_cast<std::size_t>(session_->size() - 1), MPI_REQUEST_NULL) {
  const std::lock_guard lock(session_->calls());
  const auto size = static_cast<int>(received_.size());
  check_call(MPI_Irecv(received_.data(), size, MPI_CHAR, MPI_ANY_SOURCE, 0, messages_, &receipt_), "MPI_Irecv");
}

FailureNote::~FailureNote() {
  const std::lock_guard lock(session_->calls());
  if (receipt_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&receipt_);
    MPI_Request_free(&receipt_);
  }
  if (!is_over_) MPI_Comm_free(&messages_);  // otherwise the other ranks may not reach this, and notes may be in flight
}

void FailureNote::send(const std::string& reason) {
  {
    const std::lock_guard lock(session_->calls());
    if (sent_.front() != '\0') return;
    is_over_ = true;
    reason.copy(sent_.data(), sent_.size() - 1);
    std::size_t next = 0;
    for (int peer = 0; peer < session_->size(); ++peer) {
      if (peer == session_->rank()) continue;
      MPI_Isend(sent_.data(), static_cast<int>(sent_.size()), MPI_CHAR, peer, 0, messages_, &requests_[next++]);
    }
  }
  wait(*session_, Clock::now(), 0.2, [&] {
    int flag = 0;
    const auto count = static_cast<int>(requests_.size());
    return MPI_Testall(count, requests_.data(), &flag, MPI_STATUSES_IGNORE) != MPI_SUCCESS || flag != 0;
  });
}

std::optional<std::string> FailureNote::look() {
  if (receipt_ == MPI_REQUEST_NULL) return std::nullopt;
  int flag = 0;
  if (MPI_Test(&receipt_, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag == 0) return std::nullopt;
  is_over_ = true;
  received_.back() = '\0';
  return received_.data();
}

}  // namespace mirrortrain::mpi
