// Connections with TLS. The certificates are those of tests/rpc/certificates.
#include "rpc/security.h"

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "cluster/reachable_host.h"
#include "error_text.h"
#include "rpc/control_plane.h"
#include "rpc/status_text.h"
#include "temporary_folder.h"

namespace mirrortrain::rpc {
namespace {

std::string file(const std::string& name) { return MIRRORTRAIN_CERTIFICATES "/" + name; }

ClusterOptions with_tls(const std::string& certificate, const std::string& key, const std::string& authority) {
  ClusterOptions options;
  options.tls = TlsOptions{{certificate}, {key}, {authority}};
  return options;
}

const ClusterOptions kNode = with_tls(file("node.pem"), file("node.key"), file("authority.pem"));

TEST_CASE("files of TLS that cannot be used are told by their key before any connection") {
  const TemporaryFolder folder;
  const std::string junk = folder / "junk";
  std::ofstream(junk) << "nothing\n";
  const std::string damaged = folder / "damaged";
  std::ofstream(damaged) << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const std::string locked = folder / "locked";
  std::ofstream(locked) << "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
  const std::string pem = file("node.pem"), key = file("node.key"), authority = file("authority.pem");
  for (const auto& [options, message] : {
           std::pair(with_tls(junk, key, authority), "strategy.cluster.tls.certificate: " + junk + ": expected a PEM"),
           std::pair(with_tls(pem, junk, authority), "strategy.cluster.tls.key: " + junk + ": expected a PEM file"),
           std::pair(with_tls(pem, locked, authority), "strategy.cluster.tls.key: " + locked + " has a pass phrase"),
           std::pair(with_tls(pem, pem, authority), "strategy.cluster.tls.key: " + pem + ": expected a PEM file"),
           std::pair(with_tls(pem, key, key), "strategy.cluster.tls.authority: " + key + ": expected a PEM file"),
           std::pair(with_tls(pem, file("elsewhere.key"), authority),
                     "strategy.cluster.tls.key: " + file("elsewhere.key") + " does not belong to the certificate"),
           std::pair(with_tls(damaged, key, authority),
                     "strategy.cluster.tls.certificate: " + damaged + ": it is damaged"),
           std::pair(with_tls(pem, key, damaged), std::string("strategy.cluster.tls.authority: ") + damaged),
       }) {
    const std::string error = error_text([&, &options = options] { Security::from(options); });
    CHECK_MESSAGE(contains(error, message), error);
  }
  CHECK(error_text([&] { Security::from(kNode); }) == "no error");
}

/// What is logged while chief and worker, secured so, try to join.
std::string log_of(const ClusterOptions& chief, const ClusterOptions& worker) {
  std::ostringstream text;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  ClusterSpec cluster;
  for (int i = 0; i < 2; ++i) cluster.workers.push_back("127.0.0.1:" + std::to_string(free_port("127.0.0.1")));
  cluster.source = "TF_CONFIG";
  ClusterSpec other = cluster;
  other.task.index = 1;
  std::thread joins([&] { error_text([&] { ControlPlane::join(other, Security::from(worker), {}, {4.5, 10}); }); });
  error_text([&] { ControlPlane::join(cluster, Security::from(chief), {}, {4.5, 10}); });
  joins.join();
  spdlog::set_default_logger(before);
  return text.str();
}

TEST_CASE("a certificate that the authority has not signed, or that is not valid now, is told of with its dates") {
  const auto error_at = [](std::time_t now, const std::string& authority) {
    const ClusterOptions options = with_tls(file("node.pem"), file("node.key"), authority);
    const TlsTexts texts{read_text_file(file("node.pem")), read_text_file(file("node.key")), read_text_file(authority)};
    return error_text([&] { require_usable(*options.tls, texts, now); });
  };
  const std::time_t now = std::time(nullptr), year = 365 * 24 * 3600;
  const std::string authority = file("authority.pem"), other = file("elsewhere.pem");
  CHECK(error_at(now, authority) == "no error");
  CHECK(error_at(now, file("node.pem")) == "no error");
  const std::string stranger = error_at(now, other);
  CHECK_MESSAGE(contains(stranger, "strategy.cluster.tls.certificate: " + file("node.pem") +
                                       " is not signed by the authority in " + other),
                stranger);
  CHECK_MESSAGE(contains(stranger, "openssl verify -CAfile " + other + " " + file("node.pem")), stranger);
  const std::string late = error_at(now + 200 * year, authority), early = error_at(now - 100 * year, authority);
  CHECK_MESSAGE(contains(late, ".pem has expired: it was valid until 2126-"), late);
  CHECK_MESSAGE(contains(early, ".pem is not valid yet: it is from 2026-"), early);
}

TEST_CASE("tasks with TLS join, and one without is told of") {
  CHECK(log_of(kNode, kNode).empty());
  const std::string one_sided = log_of(kNode, {});
  CHECK_MESSAGE(contains(one_sided, "a TLS handshake failed ("), one_sided);
  CHECK_MESSAGE(contains(one_sided, ", the chief: it ends every connection"), one_sided);
  const std::string other_side = log_of({}, kNode);
  CHECK_MESSAGE(contains(other_side, ", the chief: a TLS handshake failed ("), other_side);
}

TEST_CASE("a certificate of another machine's name is told of") {
  const ClusterOptions elsewhere = with_tls(file("elsewhere.pem"), file("elsewhere.key"), file("authority.pem"));
  const std::string log = log_of(elsewhere, kNode);
  CHECK_MESSAGE(contains(log, ", the chief: a TLS handshake failed ("), log);
}

TEST_CASE("with TLS, the end of a connection may mean that a certificate was refused") {
  const grpc::Status ended(grpc::StatusCode::UNAVAILABLE, "recvmsg: Connection reset by peer");
  CHECK(status_text(ended, Security::from({})) == "the connection has ended");
  CHECK(status_text(ended, Security::from(kNode)) ==
        "the connection has ended (with tls also where the other side refuses this task's certificate)");
}

}  // namespace
}  // namespace mirrortrain::rpc
