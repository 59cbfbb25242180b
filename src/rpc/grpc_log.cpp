#include "rpc/grpc_log.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <string_view>
#include <utility>

namespace mirrortrain::rpc {
namespace {

std::mutex mutex;
std::string handshake_error;

void take(gpr_log_func_args* line) {
  spdlog::debug("gRPC: {}", line->message);
  // Logged by gRPC; the connection's status only says that it has ended.
  constexpr std::string_view kHandshake = "Handshake failed with fatal error ";
  const std::string_view text = line->message;
  const std::size_t begin = text.find(kHandshake);
  if (begin == std::string_view::npos) return;
  const std::scoped_lock lock(mutex);
  handshake_error = text.substr(begin + kHandshake.size());
  while (handshake_error.ends_with('.')) handshake_error.pop_back();
}

}  // namespace

void quiet_grpc() { gpr_set_log_function(take); }

std::string take_handshake_error() {
  const std::scoped_lock lock(mutex);
  return std::exchange(handshake_error, "");
}

std::string handshake_text(const std::string& error) {
  return fmt::format(
      "a TLS handshake failed ({}); give every task strategy.cluster.tls, with a certificate of its machine's name "
      "that the authority has signed",
      error);
}

std::string handshake_fault(const std::string& status_message) {
  // "...; last error: UNKNOWN: ipv4:127.0.0.1:2222: Ssl handshake failed: ..."
  constexpr std::string_view kFailed = "handshake failed: ";
  if (const std::size_t at = status_message.find(kFailed); at != std::string::npos) {
    return handshake_text(status_message.substr(at + kFailed.size()));
  }
  const std::size_t at = status_message.find("Peer name ");
  return at == std::string::npos ? "" : handshake_text(status_message.substr(at));
}

}  // namespace mirrortrain::rpc
