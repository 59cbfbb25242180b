#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain::mpi {

/// Why this executable cannot use MPI; empty if it can.
std::string why_no_mpi();

/// The lifetime of MPI in this process, from MPI_Init_thread (MPI_THREAD_SERIALIZED) to MPI_Finalize. Exists only in
/// processes that MPI's launcher started; others do not use MPI. Shared by its users; the last one to release it ends
/// MPI, on the thread that started it.
class Session {
 public:
  /// Starts MPI, which waits for the other processes, and fills in the address of every task of `cluster`, whose `mpi`
  /// is set: 127.0.0.1 if all run on one machine, else reachable_host's, or MIRRORTRAIN_HOST if set; with a free port,
  /// or MIRRORTRAIN_PORT plus the number of tasks before it on its machine. Throws UsageError if the executable has no
  /// MPI or another one than the launcher's, or if a task finds no address or those variables are wrong: on every task,
  /// naming the failing one. Throws Error at a second call.
  static std::shared_ptr<Session> start(ClusterSpec& cluster, const Environment& environment);

  /// Finalizes MPI if every other process does so within a few seconds; otherwise leaves it to the launcher, which ends
  /// all processes when one exits without MPI_Finalize.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Must be held during every MPI call, of which only one may run at a time.
  std::mutex& calls() { return calls_; }
  /// Notes a failure, after which the other processes may not reach MPI_Finalize.
  void give_up() { given_up_ = true; }

 private:
  Session();
  void locate(ClusterSpec& cluster, const Environment& environment) const;

  int rank_ = 0, size_ = 1;
  std::mutex calls_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace mirrortrain::mpi
