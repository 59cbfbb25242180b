#include "cluster/reachable_host.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "cluster/sockets.h"

namespace mirrortrain {
namespace {

/// Whether other machines can connect to it: not a loopback or link-local address.
bool is_reachable(const SocketAddress& one) {
  if (one.is_loopback()) return false;
  if (one.address.ss_family == AF_INET) {
    const std::uint32_t bits = ntohl(reinterpret_cast<const sockaddr_in&>(one.address).sin_addr.s_addr);
    return (bits >> 16) != 0xa9fe && bits != 0;
  }
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(one.address).sin6_addr;
  return !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_UNSPECIFIED(&address);
}

/// A port that the system chose for a socket at that address; 0, with errno, if a socket cannot be bound to it.
int port_at(const SocketAddress& one) {
  const Descriptor socket = open_socket(one);
  if (!socket.is_open() || ::bind(socket.get(), one.pointer(), one.length) != 0) return 0;
  return bound_port(socket);
}

std::vector<SocketAddress> of_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<SocketAddress> all;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_UP) == 0) continue;
      all.push_back(SocketAddress::of(one->ifa_addr));
    }
  }
  return all;
}

}  // namespace

std::string reachable_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::vector<SocketAddress> candidates = resolved(name.data());
  for (const SocketAddress& one : of_interfaces()) candidates.push_back(one);
  for (const SocketAddress& one : candidates) {
    if (is_reachable(one) && port_at(one) != 0) return one.text();
  }
  throw Error(
      fmt::format("no network interface of this machine ({}) has an address that other machines reach; name one with "
                  "MIRRORTRAIN_HOST",
                  name.data()));
}

int free_port(const std::string& host) {
  const std::vector<SocketAddress> candidates = resolved(host);
  if (candidates.empty()) throw Error(fmt::format("{}: no such host; correct MIRRORTRAIN_HOST", host));
  for (const SocketAddress& one : candidates) {
    if (const int port = port_at(one); port != 0) return port;
  }
  throw Error(fmt::format("{}: cannot listen there: {}; MIRRORTRAIN_HOST names an address of this machine", host,
                          std::strerror(errno)));
}

std::string name_error(const std::string& host) {
  addrinfo* first = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, nullptr, &first);
  if (code != 0) return fmt::format("{}: {}", host, code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code));
  ::freeaddrinfo(first);
  return "";
}

std::string listening_error(const std::string& host, int port) {
  if (const std::string unknown = name_error(host); !unknown.empty()) {
    return fmt::format("its name has no address here ({})", unknown);
  }
  int reason = 0;
  for (SocketAddress one : resolved(host)) {
    one.set_port(port);
    const Descriptor socket = open_socket(one);
    reason = errno;
    if (!socket.is_open()) continue;
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), one.pointer(), one.length) == 0 && ::listen(socket.get(), 1) == 0) return "";
    reason = errno;
    switch (reason) {
      case EADDRINUSE: return "another process has the port";
      case EADDRNOTAVAIL: return fmt::format("the host is not this machine: {} is no address of it", one.text());
      case EACCES:
        if (port < 1024) return "ports below 1024 are root's; give another one";
        break;
      default: break;
    }
  }
  return std::strerror(reason);
}

std::string loopback_of_name(const std::string& host) {
  if (host.empty() || host == "localhost") return "";
  const std::vector<SocketAddress> all = resolved(host);
  const bool is_address = std::ranges::any_of(all, [&](const SocketAddress& one) { return one.text() == host; });
  return all.empty() || is_address || !std::ranges::all_of(all, &SocketAddress::is_loopback) ? "" : all.front().text();
}

bool is_beyond_loopback(const std::string& host) {
  const std::vector<SocketAddress> all = resolved(host);
  return std::ranges::any_of(all, [](const SocketAddress& one) { return !one.is_loopback(); });
}

std::optional<std::string> greeting_at(const std::string& host, int port) {
  constexpr int kMilliseconds = 1000;
  for (SocketAddress one : resolved(host)) {
    one.set_port(port);
    const Descriptor owner = open_socket(one, SOCK_NONBLOCK);
    if (!owner.is_open()) continue;
    const int socket = owner.get();
    const auto waits_for = [&](short events) {
      pollfd polled{socket, events, 0};
      return ::poll(&polled, 1, kMilliseconds) == 1;
    };
    const bool begins = ::connect(socket, one.pointer(), one.length) == 0 || errno == EINPROGRESS;
    const bool connected = begins && waits_for(POLLOUT) && socket_error(owner) == 0;
    std::string said;
    if (connected) {
      constexpr std::string_view kQuestion = "GET / HTTP/1.0\r\n\r\n";  // for servers that wait for a request
      ::send(socket, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL);
      std::array<char, 64> bytes{};
      const auto count = waits_for(POLLIN) ? ::recv(socket, bytes.data(), bytes.size(), 0) : 0;
      if (count > 0) said.assign(bytes.data(), static_cast<std::size_t>(count));
    }
    if (connected) return said.substr(0, said.find_first_of("\r\n"));
  }
  return std::nullopt;
}

}  // namespace mirrortrain
