#pragma once

#include <fmt/format.h>
#include <grpcpp/support/status.h>

#include <string>

#include "rpc/grpc_log.h"
#include "rpc/security.h"

namespace mirrortrain::rpc {

/// Why a call failed, for messages: the other side's message; reworded plainly if it is gRPC's own description of the
/// connection.
inline std::string status_text(const grpc::Status& status, const Security& security) {
  // With TLS 1.3 a client finishes its handshake before the other side checks its certificate.
  const std::string has_ended =
      fmt::format("the connection has ended{}",
                  security.uses_tls() ? " (with tls also where the other side refuses this task's certificate)" : "");
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED: return "it did not answer in time";
    case grpc::StatusCode::UNAVAILABLE:
      if (const std::string fault = handshake_fault(status.error_message()); !fault.empty()) return fault;
      return has_ended;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::CANCELLED: return has_ended;
    default: return status.error_message().empty() ? has_ended : status.error_message();
  }
}

}  // namespace mirrortrain::rpc
