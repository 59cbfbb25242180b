#include "serve/http/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// Not open, with errno set, if it cannot.
Descriptor listen_at(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
                                       : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

ListeningSocket::ListeningSocket(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0) {
    throw Error(
        fmt::format("--host {}: {}; give an address of this machine, 127.0.0.1 for this machine alone or "
                    "0.0.0.0 for all of its networks",
                    host, ::gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one != nullptr && !socket_.is_open(); one = one->ai_next) {
    socket_ = listen_at(*one);
    if (!socket_.is_open()) error = errno;
  }
  if (socket_.is_open()) {
    port_ = port_of(socket_.get());
    return;
  }
  const char* const remedy = error == EADDRINUSE ? "; another program listens there: give another port, or 0 for any"
                             : error == EACCES   ? "; ports below 1024 are the system's: give another port"
                             : error == EADDRNOTAVAIL ? "; it is no address of this machine"
                                                      : "";
  throw Error(fmt::format("cannot listen at {}, port {}: {}{}", host, port, std::strerror(error), remedy));
}

bool ListeningSocket::has_waiting() const {
  pollfd one{socket_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace mirrortrain
