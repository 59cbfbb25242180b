#include "rpc/coordination_service.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "rpc/outbox.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {

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

grpc::Status CoordinationService::Session(grpc::ServerContext* call,
                                          grpc::ServerReaderWriter<ToTask, FromTask>* stream) {
  if (!security_.accepts(*call)) {
    warn_of_stranger(call->peer());
    return {grpc::StatusCode::UNAUTHENTICATED, "the token differs"};
  }
  FromTask message;
  if (!stream->Read(&message) || !message.has_hello()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "a task introduces itself first"};
  }
  Outbox<ToTask> outbox([stream](const ToTask& reply) { return stream->Write(reply); });
  const Hub::Session session = hub_.connect(message.hello(), [&outbox](const ToTask& reply) { outbox.send(reply); });
  if (session.task < 0) {
    outbox.close();
    return grpc::Status::OK;
  }
  while (stream->Read(&message)) hub_.handle_message(session, message);
  hub_.disconnect(session);
  return grpc::Status::OK;
}

}  // namespace mirrortrain::rpc
