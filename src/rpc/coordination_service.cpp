#include "rpc/coordination_service.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <deque>
#include <exception>
#include <utility>

#include "rpc/timing.h"

namespace mirrortrain::rpc {

/// The connection of one task. gRPC calls it on its threads, one read and one write at a time; it deletes itself when
/// the call is over.
class CoordinationService::TaskSession : public grpc::ServerBidiReactor<FromTask, ToTask> {
 public:
  TaskSession(CoordinationService& service, const std::optional<grpc::Status>& refusal) : service_(service) {
    if (refusal) {
      finish(*refusal);
    } else {
      StartRead(&read_);
    }
  }

  void OnReadDone(bool ok) override {
    try {
      if (!ok) return end();
      if (session_) {
        service_.hub_.handle_message(*session_, read_);
      } else if (!read_.has_hello()) {
        return finish({grpc::StatusCode::INVALID_ARGUMENT, "a task introduces itself first"});
      } else if (!introduce()) {
        return;
      }
      StartRead(&read_);
    } catch (const std::exception& error) {  // which would end the process
      end();
      spdlog::error("a message of a task: {}", error.what());
    }
  }

  void OnWriteDone(bool ok) override {
    const std::scoped_lock lock(mutex_);
    if (ok) {
      unsent_.pop_front();
    } else {
      unsent_.clear();
    }
    advance();
  }

  void OnDone() override {
    CoordinationService& service = service_;
    delete this;
    service.end_session();
  }

 private:
  /// Whether the hub accepts the task.
  bool introduce() {
    const Hub::Session session = service_.hub_.connect(read_.hello(), [this](const ToTask& reply) { send(reply); });
    if (session.task < 0) {
      finish(grpc::Status::OK);
      return false;
    }
    session_ = session;
    return true;
  }

  /// Must not wait for the hub, which calls it.
  void send(const ToTask& message) {
    const std::scoped_lock lock(mutex_);
    if (status_) return;
    unsent_.push_back(message);
    if (unsent_.size() == 1) StartWrite(&unsent_.front());
  }

  /// Once this returns the hub sends nothing more.
  void end() {
    if (session_) service_.hub_.disconnect(*std::exchange(session_, std::nullopt));
    finish(grpc::Status::OK);
  }

  /// Ends the call after what is still to be sent.
  void finish(const grpc::Status& status) {
    const std::scoped_lock lock(mutex_);
    if (status_) return;
    status_ = status;
    if (unsent_.empty()) Finish(status);
  }

  void advance() {
    if (!unsent_.empty()) {
      StartWrite(&unsent_.front());
    } else if (status_) {
      Finish(*status_);
    }
  }

  CoordinationService& service_;
  FromTask read_;
  std::optional<Hub::Session> session_;  ///< used by reads alone
  std::mutex mutex_;
  std::deque<ToTask> unsent_;  ///< the first is being written
  std::optional<grpc::Status> status_;
};

CoordinationService::~CoordinationService() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return sessions_ == 0; });
}

grpc::ServerBidiReactor<FromTask, ToTask>* CoordinationService::Session(grpc::CallbackServerContext* call) {
  const auto refusal = refusal_of(*call);
  {
    const std::scoped_lock lock(mutex_);
    ++sessions_;
  }
  return new TaskSession(*this, refusal);
}

std::optional<grpc::Status> CoordinationService::refusal_of(const grpc::CallbackServerContext& call) {
  if (!security_.accepts(call)) {
    warn_of_stranger(call.peer());
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the token differs");
  }
  const std::scoped_lock lock(mutex_);
  if (sessions_ < most_sessions_) return std::nullopt;
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many connections");
}

/// Not more often than every kReminder, however often they come.
void CoordinationService::warn_of_stranger(const std::string& peer) {
  const std::scoped_lock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (warned_ && now - *warned_ < kReminder) {
    ++unreported_;
    return;
  }
  const std::string others = unreported_ > 0 ? fmt::format(", and {} since the last warning", unreported_) : "";
  spdlog::warn("refused a peer without this cluster's token: {}{}", peer, others);
  warned_ = now;
  unreported_ = 0;
}

void CoordinationService::end_session() {
  const std::scoped_lock lock(mutex_);
  if (--sessions_ == 0) ended_.notify_all();
}

}  // namespace mirrortrain::rpc
