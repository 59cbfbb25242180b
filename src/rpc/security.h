#pragma once

#include <memory>
#include <string>

#include "cluster/cluster_options.h"
#include "cluster/environment.h"
#include "rpc/certificates.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
class Channel;
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace mirrortrain::rpc {

/// How the connections between a cluster's tasks are secured: the shared token and the certificates, read from their
/// files. Outside `rpc` only the parameter servers' connections (strategy/parameter_server) use gRPC's own names.
class Security {
 public:
  /// The token is the file's, or else the environment's (kTokenVariable). Throws UsageError, naming the key, for a file
  /// that cannot be read, is empty, or is not usable for TLS.
  static Security from(const ClusterOptions& options, const Environment& environment = process_environment());

  std::shared_ptr<grpc::ServerCredentials> server() const;
  /// A channel to "host:port", which connects when it is first used.
  std::shared_ptr<grpc::Channel> channel(const std::string& address) const;
  /// Adds the token to a call.
  void sign(grpc::ClientContext& call) const;
  /// Whether an incoming call has the token; always true if there is none.
  bool accepts(const grpc::ServerContextBase& call) const;

  bool has_token() const { return !token_.empty(); }
  bool uses_tls() const { return !tls_.certificate.empty(); }

 private:
  std::string token_;
  TlsTexts tls_;
};

/// The maximum size of a message in bytes; larger tensors are split into several.
inline constexpr int kLargestMessage = 16 << 20;

}  // namespace mirrortrain::rpc
