#include "rpc/coordination_service.h"

#include <spdlog/spdlog.h>

#include "rpc/outbox.h"

namespace mirrortrain::rpc {

grpc::Status CoordinationService::Session(grpc::ServerContext* call,
                                          grpc::ServerReaderWriter<ToTask, FromTask>* stream) {
  if (!security_.accepts(*call)) {
    spdlog::warn("refused a peer without this cluster's token: {}", call->peer());
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
