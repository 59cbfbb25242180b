#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "rpc/grpc_log.h"

namespace mirrortrain::rpc {

/// Why a call failed, for messages: what the other side says; in plain words where gRPC itself tells of the connection.
inline std::string status_text(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED: return "it did not answer in time";
    case grpc::StatusCode::UNAVAILABLE:
      if (const std::string fault = handshake_fault(status.error_message()); !fault.empty()) return fault;
      return "the connection has ended";
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::CANCELLED: return "the connection has ended";
    default: return status.error_message().empty() ? "the connection has ended" : status.error_message();
  }
}

}  // namespace mirrortrain::rpc
