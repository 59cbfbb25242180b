#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace mirrortrain {

/// An IPv4 or IPv6 address with a port, as the system's functions take it.
struct SocketAddress {
  sockaddr_storage address{};
  socklen_t length = 0;

  /// Of family AF_INET or AF_INET6.
  static SocketAddress of(const sockaddr* address);
  const sockaddr* pointer() const { return reinterpret_cast<const sockaddr*>(&address); }
  void set_port(int port);
  int port() const;
  bool is_loopback() const;
  /// Negative, 0 or positive: the order of the addresses' bytes, without their ports; IPv4 before IPv6.
  int compared_to(const SocketAddress& other) const;
  std::string text() const;  ///< numeric, without the port
};

/// What a name or numeric address stands for here, in the system's order, with port 0; none if it is unknown.
std::vector<SocketAddress> resolved(const std::string& host);

/// A TCP socket for such an address, closed on exec; not open, with errno, if there is none. `flags`: SOCK_NONBLOCK.
Descriptor open_socket(const SocketAddress& one, int flags = 0);

/// The port that a bound socket has; 0, with errno, if it has none.
int bound_port(const Descriptor& socket);

/// The pending error of a socket whose connection was begun; 0 if it is connected.
int socket_error(const Descriptor& socket);

}  // namespace mirrortrain
