#pragma once

#include <string>

namespace mirrortrain::rpc {

/// Keeps gRPC from writing to stderr by itself: errors reach the user as exceptions. Its words go to the log's level
/// debug.
void quiet_grpc();

/// What gRPC said of the last TLS handshake of this process that failed, since the last call; empty where none did.
std::string take_handshake_error();

/// Such an error with its remedy.
std::string handshake_text(const std::string& error);

/// The same from what a call's status says, where a TLS handshake kept it from its peer; else empty.
std::string handshake_fault(const std::string& status_message);

}  // namespace mirrortrain::rpc
