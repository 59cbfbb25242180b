#include "bench/plan/loopback.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/median.h"

namespace mirrortrain::plan {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw Error(fmt::format("the loopback cannot be measured: {}: {}; give --network LATENCY,BANDWIDTH", what,
                          std::strerror(errno)));
}

/// A TCP socket.
class Socket {
 public:
  explicit Socket(int descriptor, const char* what) : descriptor_(descriptor) {
    if (descriptor_ < 0) fail(what);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

  /// Sends as many bytes as it receives, at the same time. False if the peer has closed the connection.
  bool exchange(std::vector<char>& out, std::vector<char>& in) const {
    std::size_t sent = 0, received = 0;
    while (sent < out.size() || received < in.size()) {
      const short wanted = static_cast<short>((sent < out.size() ? POLLOUT : 0) | (received < in.size() ? POLLIN : 0));
      pollfd waiting{descriptor_, wanted, 0};
      if (poll(&waiting, 1, -1) < 0 && errno != EINTR) return false;
      if ((waiting.revents & POLLIN) != 0) {
        const ssize_t got = recv(descriptor_, in.data() + received, in.size() - received, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
        received += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
      } else if ((waiting.revents & (POLLERR | POLLHUP)) != 0) {
        return false;
      }
      if ((waiting.revents & POLLOUT) != 0) {
        const ssize_t gave = send(descriptor_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
        if (gave < 0 && errno != EAGAIN && errno != EINTR) return false;
        sent += static_cast<std::size_t>(std::max<ssize_t>(gave, 0));
      }
    }
    return true;
  }

 private:
  int descriptor_;
};

/// Both ends of a connection over 127.0.0.1.
std::pair<Socket, Socket> connect_pair() {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.descriptor(), generic, size) != 0) fail("bind");
  if (listen(listener.descriptor(), 1) != 0) fail("listen");
  if (getsockname(listener.descriptor(), generic, &size) != 0) fail("getsockname");
  Socket client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  if (connect(client.descriptor(), generic, size) != 0) fail("connect");
  Socket server(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC), "accept");
  for (const Socket* end : {&client, &server}) {
    const int no_delay = 1;
    if (setsockopt(end->descriptor(), IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay)) != 0) fail("setsockopt");
    if (fcntl(end->descriptor(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
  }
  return {std::move(client), std::move(server)};
}

/// The median seconds of exchanges of so many bytes.
double exchange_seconds(std::size_t bytes, int times) {
  const auto [here, there] = connect_pair();
  std::thread other([&there, bytes, times] {
    std::vector<char> out(bytes, 1), in(bytes);
    for (int i = 0; i < times && there.exchange(out, in);) ++i;
  });
  std::vector<char> out(bytes, 1), in(bytes);
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const auto start = Clock::now();
    if (!here.exchange(out, in)) break;
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  other.join();
  if (std::ssize(seconds) < times) throw Error("the loopback cannot be measured: a connection broke; give --network");
  return median(std::move(seconds));
}

}  // namespace

Network measure_loopback() {
  constexpr std::size_t kLarge = 1 << 20;
  const double latency = exchange_seconds(8, 1001), large = exchange_seconds(kLarge, 51);
  return {latency, kLarge / std::max(large - latency, 1e-9)};
}

}  // namespace mirrortrain::plan
