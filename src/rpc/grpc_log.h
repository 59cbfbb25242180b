#pragma once

#include <string>

namespace mirrortrain::rpc {

/// Keeps gRPC from writing to stderr: errors reach the user as exceptions. Its messages are logged at level debug.
void quiet_grpc();

/// gRPC's message about this process's last failed TLS handshake since the last call; empty if none failed.
std::string take_handshake_error();

/// Such an error with its remedy.
std::string handshake_text(const std::string& error);

/// The same from a call's status message, if the call failed because of a TLS handshake; else empty.
std::string handshake_fault(const std::string& status_message);

}  // namespace mirrortrain::rpc
