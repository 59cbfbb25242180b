#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "rpc/control_plane.h"
#include "rpc/coordination.pb.h"

namespace mirrortrain::rpc {

/// The generation that this task tried to join is ending: join the next one.
struct JoinAgain {};

/// A task's part of the control plane, with a local or a remote chief: exchanges messages with the chief.
class Member : public ControlPlane {
 public:
  using Send = std::function<void(const FromTask&)>;

  /// `send` sends messages to the chief. A chief not heard from for the timeouts' silence_seconds has failed.
  Member(const ClusterSpec& cluster, Send send, const Timeouts& timeouts);
  ~Member() override { stop_heart(); }

  /// The first message. `generation`: the one to join; 0: the current one.
  void send_handshake(const Handshake& handshake, int generation);
  /// Returns when every task has joined. Throws UsageError if the chief rejects this one, Error if tasks do not join in
  /// time (0: no limit), JoinAgain and RunIsOver in elastic runs.
  void wait_for_welcome(double seconds);
  void say_goodbye();
  /// Once this returns no heartbeat is sent and no failure is learned: call it before destroying what `send` uses.
  void stop_heart();

  /// Handles a message from the chief. Never blocks for long.
  void handle_message(const ToTask& message);
  /// The connection to the chief has ended because of `why` (" ended unexpectedly").
  void lose_chief(std::string_view why);

  const ClusterSpec& cluster() const override { return cluster_; }
  int generation() const override { return generation_; }
  bool regroups() const override;
  bool is_lost_itself() const override;
  bool is_cut_off() const override;
  std::vector<Task> lost() const override { return {}; }
  std::vector<Loss> losses() const override { return {}; }
  void put(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::vector<std::string> gather(const std::string& key, int rank, int size,
                                  std::span<const std::string> values) override;
  void fail(const std::string& reason, int exit_code) override;
  std::string explain(const std::string& error, std::span<const Task> unreached) override;
  std::string failure() const override;
  int failed_exit_code() const override;
  void on_failure(std::function<void(const std::string&)> callback) override;
  void begin_step(std::int64_t step) override;
  void begin_operation(std::string_view what) override;
  void end_operation() override;
  int agree_to_stop(std::int64_t step, int own) override;

 private:
  using Clock = std::chrono::steady_clock;
  /// `from_chief`: null if this task found it out itself. `is_silence`: that it does not hear the chief.
  void learn_failure(const std::string& reason, const Failure* from_chief = nullptr, bool is_silence = false);
  void take_welcome(const Welcome& welcome);
  std::string with_own_place(const std::string& reason) const;
  template <class Answers>
  std::unique_lock<std::mutex> ask(const FromTask& message, const std::string& key, Answers& answers);
  void beat();
  std::string silence_of_chief(double longest_seconds) const;

  ClusterSpec cluster_;
  const Send send_;
  const Timeouts timeouts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool introduced_ = false, welcomed_ = false, is_over_ = false;
  bool again_ = false;                                                   ///< the next generation is to be joined
  bool regroups_ = false, is_lost_itself_ = false, is_cut_off_ = false;  ///< after the failure
  int generation_ = 1;
  std::string refusal_, over_, failure_;
  int failed_exit_code_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::string, Table> tables_;
  std::mutex callback_mutex_;  ///< held while the callback runs, and locked before mutex_
  std::function<void(const std::string&)> on_failure_;
  Clock::time_point heard_;

  std::int64_t step_ = 0, operations_ = 0;
  std::string_view operation_;

  bool asked_to_stop_ = false;  ///< this task has notified the chief of its own signal
  bool holds_ = false;          ///< the chief decides where to stop
  std::optional<std::int64_t> stop_after_;
  std::int64_t last_step_ = 0;  ///< of the last call of agree_to_stop
  int stop_signal_ = 0;

  std::thread heart_;  ///< last, as it uses the rest
};

}  // namespace mirrortrain::rpc
