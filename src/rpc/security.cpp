#include "rpc/security.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <ctime>

#include "base/blanks.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "cluster/token.h"

namespace mirrortrain::rpc {
namespace {

constexpr const char* kTokenKey = "mirrortrain-token";

std::string read_secret(const std::string& key, const config::Path& file) {
  std::string text;
  try {
    text = without_outer_blanks(without_byte_order_mark(read_text_file(file.text)));
  } catch (const Error& error) {
    throw UsageError(fmt::format("strategy.cluster.{}: {}", key, error.what()));
  }
  if (text.empty()) throw UsageError(fmt::format("strategy.cluster.{}: {} is empty", key, file.text));
  return text;
}

/// A constant-time comparison, so that a token cannot be guessed byte by byte.
bool same_secret(const std::string& a, grpc::string_ref b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b.data()[i]);
  return difference == 0;
}

}  // namespace

Security Security::from(const ClusterOptions& options, const Environment& environment) {
  Security security;
  if (options.token_file) {
    security.token_ = read_secret("token_file", *options.token_file);
    require_token(security.token_, "strategy.cluster.token_file: " + options.token_file->text);
  } else {
    security.token_ = token_of(environment);
  }
  if (options.tls) {
    security.tls_ = {read_secret("tls.certificate", options.tls->certificate), read_secret("tls.key", options.tls->key),
                     read_secret("tls.authority", options.tls->authority)};
    require_usable(*options.tls, security.tls_, std::time(nullptr));
  }
  return security;
}

std::shared_ptr<grpc::ServerCredentials> Security::server() const {
  if (!uses_tls()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls_.authority;
  options.pem_key_cert_pairs.push_back({tls_.key, tls_.certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::Channel> Security::channel(const std::string& address) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  // Addresses are within the cluster: a proxy for external hosts must not be used.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A connection of its own, which ends with the channel, where several tasks are in one process too.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Despite its name, this limits the time of an attempt to connect: a call fails if the peer, on a busy machine,
  // answers later.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  if (!uses_tls()) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  return grpc::CreateCustomChannel(address, grpc::SslCredentials({tls_.authority, tls_.key, tls_.certificate}),
                                   arguments);
}

void Security::sign(grpc::ClientContext& call) const {
  if (!token_.empty()) call.AddMetadata(kTokenKey, token_);
}

bool Security::accepts(const grpc::ServerContextBase& call) const {
  if (token_.empty()) return true;
  const auto& metadata = call.client_metadata();
  const auto found = metadata.find(kTokenKey);
  return found != metadata.end() && same_secret(token_, found->second);
}

}  // namespace mirrortrain::rpc
