#include "rpc/task_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/reachable_host.h"
#include "cluster/token.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {

int most_calls(const ClusterSpec& cluster) {
  constexpr int kOfTask = 8, kOfServer = 32;
  return kOfServer + kOfTask * static_cast<int>(cluster.tasks().size());
}

namespace {

/// A task whose name is only a loopback address here would wait for others that cannot reach it. Throws Error if others
/// are on other machines.
void require_reachable(const ClusterSpec& cluster) {
  const Address own = Address::of(cluster.address(cluster.task));
  const std::string loopback = loopback_of_name(own.host);
  if (loopback.empty()) return;
  for (const Task& task : cluster.tasks()) {
    if (task == cluster.task || cluster.address(task).empty()) continue;
    const Address other = Address::of(cluster.address(task));
    if (other.host == own.host || !is_beyond_loopback(other.host)) continue;
    if (listening_error(other.host, 0).empty()) continue;  // another name of this machine
    throw Error(
        fmt::format("{}: {} is {} here, where {} cannot reach it; give the address of a network interface of this "
                    "machine in {}, or correct its name in /etc/hosts",
                    cluster.describe(cluster.task), own.host, loopback, cluster.describe(task), cluster.source));
  }
}

/// What strangers can do to a task that listens beyond this machine and asks for neither token nor certificate.
void warn_of_strangers(const ClusterSpec& cluster, const Security& security) {
  static std::atomic<bool> has_warned = false;  // a later generation of an elastic run says nothing new
  const std::string& address = cluster.address(cluster.task);
  if (security.has_token() || security.uses_tls() || !is_beyond_loopback(Address::of(address).host)) return;
  if (has_warned.exchange(true)) return;
  spdlog::warn(
      "{}: whoever reaches {} can join this run, change its weights and end it; give every task the same "
      "strategy.cluster.token_file, or the same {} in its environment",
      cluster.task.text(), address, kTokenVariable);
}

/// In Kubernetes a pod's own name is known a moment after the pod has started: "fashion-0.fashion" of fashion-0.
void wait_for_own_name(const std::string& host) {
  constexpr std::chrono::seconds kLongest{60};
  std::array<char, 256> own{};
  ::gethostname(own.data(), own.size() - 1);
  if (host.substr(0, host.find('.')) != own.data()) return;
  const auto begin = std::chrono::steady_clock::now();
  auto next_warning = begin + kMismatch;
  for (std::string error = name_error(host); !error.empty(); error = name_error(host)) {
    const auto now = std::chrono::steady_clock::now();
    if (now - begin > kLongest) return;  // said when it cannot listen
    if (now > next_warning) {
      spdlog::warn("waiting for this machine's own name, which has no address here ({})", error);
      next_warning = now + kReminder;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace

std::unique_ptr<grpc::Server> start_server(const ClusterSpec& cluster, const Security& security,
                                           std::span<grpc::Service* const> services) {
  wait_for_own_name(Address::of(cluster.address(cluster.task)).host);
  require_reachable(cluster);
  const std::string& address = cluster.address(cluster.task);
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two processes at one address would share its connections
  builder.SetMaxReceiveMessageSize(kLargestMessage);
  builder.SetResourceQuota(grpc::ResourceQuota().SetMaxThreads(most_calls(cluster)));
  int port = 0;
  builder.AddListeningPort(address, security.server(), &port);
  for (grpc::Service* const service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || port == 0) {
    const Address own = Address::of(address);
    const std::string why = listening_error(own.host, own.port);
    throw Error(fmt::format("{} cannot listen at its address in {}: {}", cluster.describe(cluster.task), cluster.source,
                            why.empty() ? "another process may have had the port" : why));
  }
  warn_of_strangers(cluster, security);
  return server;
}

}  // namespace mirrortrain::rpc
