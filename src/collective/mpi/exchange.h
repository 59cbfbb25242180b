#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/mpi/session.h"
#include "collective/call_barrier.h"
#include "collective/mpi/failure_note.h"

namespace mirrortrain::mpi {

/// A rank's messages: those of its current operation, and one with the reason why the group has failed. An operation is
/// `begin`, followed by rounds of messages, each ended by `finish`. Allocates nothing per operation.
class Exchange {
 public:
  /// Uses its own duplicates of MPI_COMM_WORLD, for messages among `members`, which are numbered in their order. Throws
  /// Error if the other processes do not make theirs in time.
  Exchange(std::shared_ptr<Session> session, double timeout_seconds, std::vector<int> members);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Starts the operation's timeout. `call` must live until the last `finish`.
  void begin(const CollectiveCall& call);
  /// Sends or receives elements of the operation's type; 0 elements are not sent. They must stay in place until
  /// `finish`.
  void send(int to, const std::byte* data, std::size_t count);
  void receive(int from, std::byte* data, std::size_t count);
  /// Returns when this round's messages are sent and received. Throws Error on a timeout, if another rank is in another
  /// operation, or if the group has failed.
  void finish();

  /// Fails this rank's current and later operations, and notifies the other ranks of the reason; the first reason is
  /// kept.
  void fail(const std::string& reason);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Throws Error with the reason; first checks for one from the other ranks.
  void throw_if_failed();

 private:
  void add(int peer, std::size_t count, bool is_receipt);
  int tag() const;
  bool all_done();
  void look_for_stranger();
  void look_for_note();
  void learn(const std::string& reason);
  void drop_messages();
  std::string overdue() const;

  const std::shared_ptr<Session> session_;
  const double timeout_seconds_;
  const std::vector<int> members_;  ///< MPI's ranks
  FailureNote note_;
  MPI_Comm messages_;
  const int hash_bits_;  ///< of a tag

  const CollectiveCall* call_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::chrono::steady_clock::time_point since_;
  unsigned operations_ = 0;   ///< begun so far
  int hash_ = 0, round_ = 0;  ///< of the operation

  /// A message of this round.
  struct Message {
    int peer = 0;  ///< MPI's rank
    int count = 0;
    bool is_receipt = false;
  };
  std::vector<Message> round_messages_;
  std::vector<MPI_Request> requests_;  ///< of the same

  std::atomic<bool> failed_ = false;
  std::mutex reason_mutex_;
  std::string reason_;
};

}  // namespace mirrortrain::mpi
