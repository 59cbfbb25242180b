#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster_spec.h"
#include "rpc/control_plane.h"
#include "rpc/coordination.pb.h"

namespace mirrortrain::rpc {

/// The chief's state of the run's tasks, and its messages to them: who has joined, the values that they store for each
/// other, when to stop, who has failed. Independent of connections: each task has a function that receives its
/// messages.
class Hub {
 public:
  /// Sends a message to a task; must not block or call the hub.
  using Send = std::function<void(const ToTask&)>;

  Hub(const ClusterSpec& cluster, const Timeouts& timeouts, const Generation& generation);
  ~Hub();

  /// A connection of a task.
  struct Session {
    int task = -1;   ///< -1: refused
    int number = 0;  ///< numbers the task's connections
  };

  /// A task's connection begins with its handshake. If it is rejected, the reason is sent. A task that has left may
  /// join again, replacing its old connection.
  Session connect(const Hello& hello, Send send);
  /// Handles a task's later messages.
  void handle_message(const Session& session, const FromTask& message);
  /// A task's connection has ended. Without an earlier goodbye, the task has died.
  void disconnect(const Session& session);

  /// Tasks that died or stalled, and did not come back.
  std::vector<Task> lost() const;
  std::vector<Loss> losses() const;

  /// Waits until every task but the chief has said goodbye or is gone, at most for `longest`.
  void wait_for_goodbyes(std::chrono::milliseconds longest);

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    Task task;
    Send send;  ///< empty while it is not connected
    int session = 0;
    bool joined = false, left = false;
    bool gone = false;    ///< died, or not heard from any more
    bool lost = false;    ///< for the next generation
    bool late = false;    ///< waits for the next generation
    bool missed = false;  ///< an evaluator that left, and has not come back
    Clock::time_point heard, late_since;
    std::optional<Clock::time_point> left_early = {};  ///< before every task had joined
    Progress progress;
    std::set<std::string> waits_for;  ///< keys of values
    std::int64_t stop_step = -1;
    std::set<Member*> unreached = {};  ///< as it, or they, have reported

    bool takes_part() const { return !left && !gone && !late; }
  };

  /// What the ranks of a group have shared so far.
  struct Gathering {
    struct Rank {
      int task = -1;  ///< -1: not yet
      std::string value;
    };
    std::vector<Rank> ranks;
    std::vector<Table> tables;  ///< by rank, with the parts for it
    std::size_t count = 0;
  };

  /// Why a task is rejected.
  struct Refusal {
    ToTask message;
    bool is_of_cluster = false;  ///< the tasks were not started for the same run, so no other can take part either
  };

  Member* member_named(const std::string& task);
  std::optional<Refusal> refusal_for(const Hello& hello);
  Session accept(const Hello& hello, Member& member, Send send);
  void welcome_all();
  void welcome_without_missing();
  ToTask welcome() const;
  void refuse_all_early(const std::string& reason);
  void lose(Member& member);
  std::ptrdiff_t recent_losses(const Member& member) const;
  Clock::duration settling_time(const Member& member) const;
  void regroup_with_late_members();
  void end_late_members();
  void miss(Member& member, const std::string& what);
  void report_missed() const;
  void send_value(const std::string& key);
  void take_share(int task, const Share& share);
  void begin_stop(int signal);
  void decide_stop();
  void fail(const std::string& reason, const std::vector<Member*>& blamed, int except = -1);
  void take_suspicion(int from, const Suspicion& suspicion);
  void judge(const std::string& error, int from);
  bool trains(const Member& member) const;
  bool judge_links(const std::string& error);
  std::vector<Member*> least_reached();
  std::string whereabouts(const Member& member) const;
  std::string silence_of(const Member& member) const;
  bool may_leave(const Member& member) const;
  void watch();
  void broadcast(const ToTask& message, int except = -1);
  Member& chief() { return members_[0]; }

  const ClusterSpec cluster_;
  const Timeouts timeouts_;
  const int generation_;
  const Clock::time_point begin_ = Clock::now();
  const std::string loopback_;  ///< the address of the chief's name, if no other machine reaches it
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Member> members_;  ///< the chief first
  std::vector<Loss> losses_;     ///< of this generation and earlier ones
  Hello reference_;              ///< the chief's
  bool welcomed_ = false;
  std::map<std::string, std::string> values_;
  std::map<std::string, Gathering> gatherings_;
  std::string failure_;
  int failed_exit_code_ = 0;  ///< of the task that reported its failure
  bool regroups_ = false;     ///< after the failure
  int stop_signal_ = 0;
  bool stop_decided_ = false;
  std::string suspicion_;
  int suspicious_ = -1;  ///< the task that reported the suspicion
  Clock::time_point suspicion_since_;
  bool ends_ = false;
  std::thread watcher_;  ///< last, as it uses the rest
};

}  // namespace mirrortrain::rpc
