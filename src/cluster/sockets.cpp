#include "cluster/sockets.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace mirrortrain {

SocketAddress SocketAddress::of(const sockaddr* address) {
  SocketAddress copy;
  copy.length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&copy.address, address, copy.length);
  return copy;
}

void SocketAddress::set_port(int port) {
  const auto net_port = htons(static_cast<std::uint16_t>(port));
  if (address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = net_port;
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = net_port;
  }
}

int SocketAddress::port() const {
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

bool SocketAddress::is_loopback() const {
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

int SocketAddress::compared_to(const SocketAddress& other) const {
  if (address.ss_family != other.address.ss_family) return address.ss_family == AF_INET ? -1 : 1;
  if (address.ss_family == AF_INET) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in&>(address).sin_addr,
                       &reinterpret_cast<const sockaddr_in&>(other.address).sin_addr, sizeof(in_addr));
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other.address).sin6_addr, sizeof(in6_addr));
}

std::string SocketAddress::text() const {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(pointer(), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

std::vector<SocketAddress> resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, ::freeaddrinfo);
  std::vector<SocketAddress> all;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET || one->ai_family == AF_INET6) all.push_back(SocketAddress::of(one->ai_addr));
  }
  return all;
}

Descriptor open_socket(const SocketAddress& one, int flags) {
  return Descriptor(::socket(one.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

int bound_port(const Descriptor& socket) {
  SocketAddress own;
  own.length = sizeof own.address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.address), &own.length) != 0) return 0;
  return own.port();
}

int socket_error(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

}  // namespace mirrortrain
