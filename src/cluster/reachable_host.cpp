#include "cluster/reachable_host.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"

namespace mirrortrain {
namespace {

struct Found {
  sockaddr_storage address{};
  socklen_t length = 0;
};

Found found(const sockaddr* address) {
  Found copy;
  copy.length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&copy.address, address, copy.length);
  return copy;
}

/// Whether other machines can connect to it: not a loopback or link-local address.
bool is_reachable(const Found& one) {
  if (one.address.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(one.address);
    const std::uint32_t bits = ntohl(address.sin_addr.s_addr);
    return (bits >> 24) != 127 && (bits >> 16) != 0xa9fe && bits != 0;
  }
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(one.address).sin6_addr;
  return !IN6_IS_ADDR_LOOPBACK(&address) && !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_UNSPECIFIED(&address);
}

/// A port that the system chose for a socket at that address; 0 if a socket cannot be bound to it.
int port_at(Found one) {
  const int descriptor = ::socket(one.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  auto* address = reinterpret_cast<sockaddr*>(&one.address);
  const bool bound =
      ::bind(descriptor, address, one.length) == 0 && ::getsockname(descriptor, address, &one.length) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (!bound) return 0;
  return ntohs(one.address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(one.address).sin_port
                                                : reinterpret_cast<sockaddr_in6&>(one.address).sin6_port);
}

std::vector<Found> resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, ::freeaddrinfo);
  std::vector<Found> all;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET || one->ai_family == AF_INET6) all.push_back(found(one->ai_addr));
  }
  return all;
}

std::vector<Found> of_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<Found> all;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_UP) == 0) continue;
      all.push_back(found(one->ifa_addr));
    }
  }
  return all;
}

std::string numeric(const Found& one) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&one.address), one.length, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
  return text.data();
}

}  // namespace

std::string reachable_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::vector<Found> candidates = resolved(name.data());
  for (const Found& one : of_interfaces()) candidates.push_back(one);
  for (const Found& one : candidates) {
    if (is_reachable(one) && port_at(one) != 0) return numeric(one);
  }
  throw Error(
      fmt::format("no network interface of this machine ({}) has an address that other machines reach; name one with "
                  "MIRRORTRAIN_HOST",
                  name.data()));
}

int free_port(const std::string& host) {
  const std::vector<Found> candidates = resolved(host);
  if (candidates.empty()) throw Error(fmt::format("{}: no such host; correct MIRRORTRAIN_HOST", host));
  for (const Found& one : candidates) {
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

std::optional<std::string> greeting_at(const std::string& host, int port) {
  constexpr int kMilliseconds = 1000;
  for (Found one : resolved(host)) {
    const auto net_port = htons(static_cast<std::uint16_t>(port));
    if (one.address.ss_family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(one.address).sin_port = net_port;
    } else {
      reinterpret_cast<sockaddr_in6&>(one.address).sin6_port = net_port;
    }
    const int socket = ::socket(one.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    const auto waits_for = [&](short events) {
      pollfd polled{socket, events, 0};
      return ::poll(&polled, 1, kMilliseconds) == 1;
    };
    const int begun = ::connect(socket, reinterpret_cast<const sockaddr*>(&one.address), one.length);
    int error = begun == 0 || errno == EINPROGRESS ? 0 : errno;
    socklen_t size = sizeof error;
    const bool connected = error == 0 && waits_for(POLLOUT) &&
                           ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    std::string said;
    if (connected) {
      constexpr std::string_view kQuestion = "GET / HTTP/1.0\r\n\r\n";  // for servers that wait for a request
      ::send(socket, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL);
      std::array<char, 64> bytes{};
      const auto count = waits_for(POLLIN) ? ::recv(socket, bytes.data(), bytes.size(), 0) : 0;
      if (count > 0) said.assign(bytes.data(), static_cast<std::size_t>(count));
    }
    ::close(socket);
    if (connected) return said.substr(0, said.find_first_of("\r\n"));
  }
  return std::nullopt;
}

}  // namespace mirrortrain
