#include "strategy/parameter_server/dispatch_service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>
#include <set>

#include "strategy/parameter_server/parameter_server.grpc.pb.h"

namespace mirrortrain {
namespace {

using OrderStream = grpc::ServerReaderWriter<parameter_server::Order, parameter_server::Report>;

parameter_server::Order order_of(const DispatchedStep& step) {
  parameter_server::Order order;
  auto& message = *order.mutable_step();
  message.set_number(step.number);
  message.set_trains(step.trains);
  message.set_data_set(step.data_set);
  message.mutable_rows()->Assign(step.rows.begin(), step.rows.end());
  message.set_step(step.step);
  message.set_epoch(step.epoch);
  message.set_updates(step.updates);
  message.mutable_learning_rates()->Assign(step.learning_rates.begin(), step.learning_rates.end());
  message.set_generation(step.generation);
  message.set_oldest_open_step(step.oldest_open_step);
  message.set_snapshot(step.snapshot);
  return order;
}

StepResult result_of(const parameter_server::Report::Result& message) {
  StepResult result;
  result.sums.loss = message.loss();
  result.sums.losses.assign(message.losses().begin(), message.losses().end());
  result.sums.metrics.assign(message.metrics().begin(), message.metrics().end());
  result.sums.examples = message.examples();
  if (message.has_staleness()) result.staleness = message.staleness();
  return result;
}

}  // namespace

class DispatchService::Body final : public parameter_server::Dispatch::Service {
  /// A worker's RPC.
  struct Session {
    Session(std::string name_, grpc::ServerContext& context_, OrderStream& stream_)
        : name(std::move(name_)), context(context_), stream(&stream_) {}

    void send(const parameter_server::Order& order) {
      const std::scoped_lock lock(mutex);
      if (stream != nullptr) stream->Write(order);
    }
    /// Called before the RPC ends.
    void close() {
      const std::scoped_lock lock(mutex);
      stream = nullptr;
    }

    const std::string name;
    grpc::ServerContext& context;
    std::mutex mutex;
    OrderStream* stream;    ///< null once closed
    std::string cancelled;  ///< the reason; guarded by the service's mutex, like the next member
    double silent_seconds = 0;
  };

 public:
  Body(rpc::Security security, const Dispatcher::Options& options)
      : security_(std::move(security)), dispatcher_(options) {}

  grpc::Status Work(grpc::ServerContext* context, OrderStream* stream) override {
    if (!security_.accepts(*context)) return {grpc::StatusCode::UNAUTHENTICATED, "the token is missing or wrong"};
    parameter_server::Report report;
    if (!stream->Read(&report) || !report.has_join()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "expected the worker's name"};
    }
    const auto session = std::make_shared<Session>(report.join(), *context, *stream);
    if (!begin(session)) {
      stream->Write(ended_);
      return grpc::Status::OK;
    }
    const int worker =
        dispatcher_.join(session->name, [session](const DispatchedStep& step) { session->send(order_of(step)); });
    const std::string reason = serve(*session, worker, *stream);
    session->close();
    finish(session, worker, reason);
    return grpc::Status::OK;
  }

  void end(const std::string& failure) {
    std::unique_lock lock(mutex_);
    if (ended_.what_case() != parameter_server::Order::WHAT_NOT_SET) return;
    if (failure.empty()) {
      ended_.set_end(true);
    } else {
      ended_.set_failure(failure);
    }
    check_ = nullptr;
    const auto sessions = sessions_;
    lock.unlock();
    for (const auto& session : sessions) session->send(ended_);
    lock.lock();
    const auto all_left = [this] { return sessions_.empty() && checks_ == 0; };
    if (changed_.wait_for(lock, std::chrono::seconds(5), all_left)) return;
    for (const auto& session : sessions_) session->context.TryCancel();
    changed_.wait(lock, all_left);
  }

  void lose(const std::string& name, const std::string& why, double silent_seconds) {
    const std::scoped_lock lock(mutex_);
    for (const auto& session : sessions_) {
      if (session->name != name) continue;
      session->silent_seconds = silent_seconds;
      cancel(*session, why);
    }
  }

  Dispatcher& dispatcher() { return dispatcher_; }
  void set_check(std::function<std::string(int)> check) {
    const std::scoped_lock lock(mutex_);
    check_ = std::move(check);
  }

 private:
  /// Returns false if the run is over.
  bool begin(const std::shared_ptr<Session>& session) {
    const std::scoped_lock lock(mutex_);
    if (ended_.what_case() != parameter_server::Order::WHAT_NOT_SET) return false;
    for (const auto& other : sessions_) {
      if (other->name == session->name) cancel(*other, "it was started again");
    }
    sessions_.push_back(session);
    if (lost_.erase(session->name) > 0) spdlog::info("{} is back", session->name);
    return true;
  }

  static void cancel(Session& session, const std::string& why) {
    if (session.cancelled.empty()) session.cancelled = why;
    session.context.TryCancel();
  }

  /// Returns the reason why the worker leaves.
  std::string serve(Session& session, int worker, OrderStream& stream) {
    parameter_server::Report report;
    while (stream.Read(&report)) {
      if (report.has_result()) dispatcher_.finish(worker, report.result().order(), result_of(report.result()));
      if (!report.has_failure()) continue;
      if (report.failure().has_server()) check_server(report.failure().server());
      return report.failure().reason();
    }
    const std::scoped_lock lock(mutex_);
    return session.cancelled.empty() ? "its connection broke" : session.cancelled;
  }

  /// Checks whether the server is gone, or only unreachable for the worker.
  void check_server(int server) {
    std::unique_lock lock(mutex_);
    const auto check = check_;
    if (!check) return;
    ++checks_;
    lock.unlock();
    const std::string failure = check(server);
    if (!failure.empty()) dispatcher_.fail(failure);
    lock.lock();
    --checks_;
    changed_.notify_all();
  }

  void finish(const std::shared_ptr<Session>& session, int worker, const std::string& reason) {
    bool over = false;
    double silent_seconds = 0;
    {
      const std::scoped_lock lock(mutex_);
      silent_seconds = session->silent_seconds;
      over = ended_.what_case() != parameter_server::Order::WHAT_NOT_SET;
    }
    if (!over) spdlog::warn("{}: {}; its steps go to others", session->name, reason);
    dispatcher_.leave(worker, reason, silent_seconds);
    const std::scoped_lock lock(mutex_);
    sessions_.remove(session);
    const auto is_successor = [&](const auto& other) { return other->name == session->name; };
    if (!over && std::ranges::none_of(sessions_, is_successor)) lost_.insert(session->name);
    changed_.notify_all();
  }

  const rpc::Security security_;
  Dispatcher dispatcher_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Session>> sessions_;
  std::set<std::string> lost_;  ///< names of workers that left
  std::function<std::string(int)> check_;
  int checks_ = 0;                 ///< number of running checks
  parameter_server::Order ended_;  ///< the message that every worker is sent at the end
};

DispatchService::DispatchService(rpc::Security security, const Dispatcher::Options& options)
    : body_(std::make_unique<Body>(std::move(security), options)) {}
DispatchService::~DispatchService() { end("the chief has ended"); }
grpc::Service& DispatchService::service() const { return *body_; }
Dispatcher& DispatchService::dispatcher() const { return body_->dispatcher(); }
void DispatchService::set_server_check(std::function<std::string(int)> check) { body_->set_check(std::move(check)); }
void DispatchService::lose(const std::string& name, const std::string& why, double silent_seconds) {
  body_->lose(name, why, silent_seconds);
}
void DispatchService::end(const std::string& failure) { body_->end(failure); }

}  // namespace mirrortrain
