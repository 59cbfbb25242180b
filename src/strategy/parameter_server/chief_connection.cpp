#include "strategy/parameter_server/chief_connection.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

#include "base/error.h"
#include "rpc/status_text.h"
#include "strategy/parameter_server/messages.h"
#include "strategy/parameter_server/parameter_server.grpc.pb.h"

namespace mirrortrain {
namespace {

using namespace parameter_server;

DispatchedStep step_of(const Order::Step& message) {
  DispatchedStep step;
  step.number = message.number();
  step.trains = message.trains();
  step.data_set = message.data_set();
  step.rows.assign(message.rows().begin(), message.rows().end());
  step.step = message.step();
  step.epoch = message.epoch();
  step.updates = message.updates();
  step.learning_rates = learning_rates_of(message.learning_rates());
  step.generation = message.generation();
  step.oldest_open_step = message.oldest_open_step();
  step.snapshot = message.snapshot();
  return step;
}

}  // namespace

class ChiefConnection::Body {
 public:
  Body(std::string address, const std::string& task, const rpc::Security& security)
      : address_(std::move(address)), security_(security), stub_(Dispatch::NewStub(security.channel(address_))) {
    security.sign(context_);
    stream_ = stub_->Work(&context_);
    Report report;
    report.set_join(task);
    if (!stream_->Write(report)) throw Error(why_broken());
  }

  ~Body() {
    if (done_) return;
    context_.TryCancel();
    finish();
  }

  std::optional<DispatchedStep> take() {
    Order order;
    if (!stream_->Read(&order)) throw Error(why_broken());
    if (order.has_step()) return step_of(order.step());
    if (order.has_failure()) throw Error(fmt::format("the run failed: {}", order.failure()));
    finish();
    return std::nullopt;
  }

  void write(const Report& report) {
    const std::scoped_lock lock(mutex_);
    if (!done_) stream_->Write(report);
  }

  void cancel() { context_.TryCancel(); }

 private:
  /// Ends writing.
  grpc::Status finish() {
    const std::scoped_lock lock(mutex_);
    done_ = true;
    stream_->WritesDone();
    return stream_->Finish();
  }

  std::string why_broken() {
    return fmt::format("the chief ({}) is gone, or has given up on this task, from which it had not heard: {}",
                       address_, rpc::status_text(finish(), security_));
  }

  const std::string address_;
  const rpc::Security security_;
  grpc::ClientContext context_;
  std::unique_ptr<Dispatch::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Report, Order>> stream_;
  std::mutex mutex_;  ///< protects writes
  bool done_ = false;
};

ChiefConnection::ChiefConnection(const std::string& address, const std::string& task, const rpc::Security& security)
    : body_(std::make_unique<Body>(address, task, security)) {}
ChiefConnection::~ChiefConnection() = default;

std::optional<DispatchedStep> ChiefConnection::take() { return body_->take(); }
void ChiefConnection::cancel() { body_->cancel(); }

void ChiefConnection::report(std::int64_t number, const StepResult& result) {
  Report report;
  auto& message = *report.mutable_result();
  message.set_order(number);
  message.set_loss(result.sums.loss);
  message.mutable_losses()->Assign(result.sums.losses.begin(), result.sums.losses.end());
  message.mutable_metrics()->Assign(result.sums.metrics.begin(), result.sums.metrics.end());
  message.set_examples(result.sums.examples);
  if (result.staleness) message.set_staleness(*result.staleness);
  body_->write(report);
}

void ChiefConnection::report_failure(const std::string& reason, std::optional<int> server) {
  Report report;
  report.mutable_failure()->set_reason(reason);
  if (server) report.mutable_failure()->set_server(*server);
  body_->write(report);
}

}  // namespace mirrortrain
