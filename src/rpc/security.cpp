#include "rpc/security.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "rpc/coordination.grpc.pb.h"
#include "rpc/grpc_log.h"

namespace mirrortrain::rpc {
namespace {

constexpr const char* kTokenKey = "mirrortrain-token";

std::string read_secret(const std::string& key, const config::Path& file) {
  std::string text;
  try {
    text = read_text_file(file.text);
  } catch (const Error& error) {
    throw UsageError(fmt::format("strategy.cluster.{}: {}", key, error.what()));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.empty()) throw UsageError(fmt::format("strategy.cluster.{}: {} is empty", key, file.text));
  return text;
}

/// Takes as long for any two texts of one length, so that a token cannot be guessed byte by byte.
bool same_secret(const std::string& a, grpc::string_ref b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b.data()[i]);
  return difference == 0;
}

void require_pem(const std::string& key, const config::Path& file, const std::string& text, std::string_view what) {
  if (text.find("-----BEGIN ") != std::string::npos && text.find(fmt::format("{}-----", what)) != std::string::npos) {
    return;
  }
  throw UsageError(fmt::format("strategy.cluster.{}: {}: expected a PEM file, with a line -----BEGIN {}-----", key,
                               file.text, what));
}

/// Whether a server can be made with them, which reads them as connections will.
bool can_serve(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  Coordination::Service nothing;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.RegisterService(&nothing);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  return server && port != 0;
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(const std::string& certificate, const std::string& key,
                                                        const std::string& authority) {
  grpc::SslServerCredentialsOptions options(authority.empty()
                                                ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = authority;
  options.pem_key_cert_pairs.push_back({key, certificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace

Security Security::from(const ClusterOptions& options) {
  Security security;
  if (options.token_file) {
    security.token_ = read_secret("token_file", *options.token_file);
    for (const char c : security.token_) {
      if (c < 0x20 || c > 0x7e) {
        throw UsageError(fmt::format("strategy.cluster.token_file: {}: expected one line of printable ASCII characters",
                                     options.token_file->text));
      }
    }
  }
  if (options.tls) {
    security.certificate_ = read_secret("tls.certificate", options.tls->certificate);
    security.key_ = read_secret("tls.key", options.tls->key);
    security.authority_ = read_secret("tls.authority", options.tls->authority);
    security.require_usable(*options.tls);
  }
  return security;
}

std::shared_ptr<grpc::ServerCredentials> Security::server() const {
  return uses_tls() ? credentials_of(certificate_, key_, authority_) : grpc::InsecureServerCredentials();
}

void Security::require_usable(const TlsOptions& files) const {
  require_pem("tls.certificate", files.certificate, certificate_, "CERTIFICATE");
  require_pem("tls.key", files.key, key_, "PRIVATE KEY");
  require_pem("tls.authority", files.authority, authority_, "CERTIFICATE");
  if (key_.find("ENCRYPTED") != std::string::npos) {
    throw UsageError(
        fmt::format("strategy.cluster.tls.key: {} has a pass phrase, which nobody could enter; store it "
                    "without one: openssl pkey -in {} -out FILE",
                    files.key.text, files.key.text));
  }
  quiet_grpc();
  if (can_serve(server()) || !can_serve(grpc::InsecureServerCredentials())) return;
  if (can_serve(credentials_of(certificate_, key_, ""))) {
    throw UsageError(
        fmt::format("strategy.cluster.tls.authority: {}: its certificate is damaged", files.authority.text));
  }
  throw UsageError(
      fmt::format("strategy.cluster.tls.key: {} does not belong to the certificate in {}, or one of them is damaged",
                  files.key.text, files.certificate.text));
}

std::shared_ptr<grpc::Channel> Security::channel(const std::string& address) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  // Addresses are the cluster's own: a proxy for the outside world is not on the way.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // How long an attempt to connect may take, despite its name: a call fails where the peer, on a busy machine, answers
  // later.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  if (!uses_tls()) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  return grpc::CreateCustomChannel(address, grpc::SslCredentials({authority_, key_, certificate_}), arguments);
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
