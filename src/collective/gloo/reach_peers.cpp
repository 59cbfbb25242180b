#include "collective/gloo/reach_peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/reachable_host.h"
#include "cluster/sockets.h"

namespace mirrortrain {
namespace {

constexpr std::chrono::seconds kWarning{5};
constexpr std::chrono::milliseconds kAgain{500};  ///< between attempts to connect that were refused
constexpr std::size_t kMostStrangers = 64;

/// Sent by the rank that connects.
struct Greeting {
  char sign[12] = "mirrortrain";
  std::int32_t rank = -1;
};

class Reach {
 public:
  Reach(const std::string& name, const std::vector<int>& peers, const GlooOptions& options,
        const RendezvousStore& rendezvous);
  void wait(double timeout_seconds);
  Descriptor take_listener() { return std::move(listener_); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int rank = 0;
    SocketAddress at;
    bool is_called = false;  ///< this rank connects
    bool calls = false;      ///< the peer connects
    Descriptor socket;       ///< open while it is being connected
    Clock::time_point next_attempt;
    int error = ETIMEDOUT;  ///< of the last attempt
    bool is_reached = false;
  };
  /// A connection whose greeting has not come yet.
  struct Caller {
    Descriptor socket;
    Clock::time_point since;
  };

  void listen(const std::string& host);
  bool all_reached() const { return std::ranges::all_of(peers_, &Peer::is_reached); }
  void begin_attempts();
  void end_attempts();
  void fail_attempt(Peer& peer, int error);
  void greet(Peer& peer);
  void accept();
  bool greets(const Caller& caller);
  std::string unreached() const;
  Unreachable unreachable(const std::string& reason) const;

  const int rank_;
  const RendezvousStore& rendezvous_;
  SocketAddress own_;
  Descriptor listener_;
  std::vector<Peer> peers_;
  std::vector<Caller> callers_;
  int accept_error_ = 0;           ///< of the last attempt; 0: none
  Clock::time_point next_accept_;  ///< after such an error, which the system would report at once again
};

std::string text_of(const SocketAddress& address) { return Address{address.text(), address.port()}.text(); }

Reach::Reach(const std::string& name, const std::vector<int>& peers, const GlooOptions& options,
             const RendezvousStore& rendezvous)
    : rank_(options.rank), rendezvous_(rendezvous) {
  listen(options.host);
  const std::string own = text_of(own_);
  const std::vector<std::string> addresses =
      rendezvous.gather(name + "/reach", options.rank, options.size, std::span(&own, 1));
  for (const int other : peers) {
    Peer& peer = peers_.emplace_back();
    peer.rank = other;
    const Address address = Address::of(addresses.at(static_cast<std::size_t>(other)));
    peer.at = resolved(address.host).at(0);  // numeric
    peer.at.set_port(address.port);
    if (own_.is_loopback() != peer.at.is_loopback()) {
      const SocketAddress& loopback = own_.is_loopback() ? own_ : peer.at;
      throw std::runtime_error(
          fmt::format("rank {} listens at {}, where rank {} at {} cannot reach it; give it the address of a network "
                      "interface, or correct its machine's own name in /etc/hosts",
                      own_.is_loopback() ? rank_ : other, loopback.text(), own_.is_loopback() ? other : rank_,
                      (own_.is_loopback() ? peer.at : own_).text()));
    }
    // As gloo does: the greater address connects; of two ranks of one address either may.
    const int order = own_.compared_to(peer.at);
    peer.is_called = order >= 0;
    peer.calls = order <= 0;
    peer.next_attempt = Clock::now();
  }
}

void Reach::listen(const std::string& host) {
  for (const SocketAddress& one : resolved(host)) {
    listener_ = open_socket(one, SOCK_NONBLOCK);
    if (listener_.is_open() && ::bind(listener_.get(), one.pointer(), one.length) == 0 &&
        ::listen(listener_.get(), SOMAXCONN) == 0) {
      own_ = one;
      own_.set_port(bound_port(listener_));
      return;
    }
  }
  throw std::runtime_error(fmt::format("cannot listen at {}: {}", host, listening_error(host, 0)));
}

void Reach::begin_attempts() {
  for (Peer& peer : peers_) {
    if (peer.is_reached || !peer.is_called || peer.socket.is_open() || Clock::now() < peer.next_attempt) continue;
    peer.socket = open_socket(peer.at, SOCK_NONBLOCK);
    if (!peer.socket.is_open()) {
      fail_attempt(peer, errno);
    } else if (::connect(peer.socket.get(), peer.at.pointer(), peer.at.length) == 0) {
      greet(peer);
    } else if (errno != EINPROGRESS) {
      fail_attempt(peer, errno);
    }
  }
}

void Reach::fail_attempt(Peer& peer, int error) {
  peer.error = error;
  peer.socket.close();
  peer.next_attempt = Clock::now() + kAgain;
}

void Reach::greet(Peer& peer) {
  Greeting greeting;
  greeting.rank = rank_;
  peer.is_reached = ::send(peer.socket.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting;
  if (!peer.is_reached) return fail_attempt(peer, errno);
  peer.socket.close();
}

/// Greets the ranks whose connections are made by now.
void Reach::end_attempts() {
  for (Peer& peer : peers_) {
    pollfd polled{peer.socket.get(), POLLOUT, 0};
    if (!peer.socket.is_open() || ::poll(&polled, 1, 0) != 1) continue;
    if (const int error = socket_error(peer.socket); error != 0) {
      fail_attempt(peer, error);
    } else {
      greet(peer);
    }
  }
}

/// Takes the connections that have come, and the greetings of those that came before.
void Reach::accept() {
  const auto now = Clock::now();
  while (now >= next_accept_) {
    Descriptor next(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (next.is_open()) {
      accept_error_ = 0;
      callers_.push_back({std::move(next), now});
      continue;
    }
    if (errno == EAGAIN) break;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    accept_error_ = errno;  // no descriptor is left, say: the connection waits
    next_accept_ = now + kAgain;
  }
  std::erase_if(callers_, [&](const Caller& caller) { return greets(caller) || now - caller.since > kWarning; });
  while (callers_.size() > peers_.size() + kMostStrangers) callers_.erase(callers_.begin());
}

/// Whether the greeting has come, or something else.
bool Reach::greets(const Caller& caller) {
  Greeting greeting;
  const ssize_t got = ::recv(caller.socket.get(), &greeting, sizeof greeting, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got != sizeof greeting || std::memcmp(greeting.sign, Greeting{}.sign, sizeof greeting.sign) != 0) return true;
  const auto peer = std::ranges::find(peers_, greeting.rank, &Peer::rank);
  if (peer != peers_.end() && peer->calls) peer->is_reached = true;
  return true;
}

std::string Reach::unreached() const {
  std::vector<std::string> all;
  for (const Peer& peer : peers_) {
    if (peer.is_reached) continue;
    const std::string name = fmt::format("rank {} at {}", peer.rank, text_of(peer.at));
    const std::string why = accept_error_ == 0 ? "" : fmt::format(" ({})", std::strerror(accept_error_));
    all.push_back(peer.is_called ? fmt::format("does not reach {} ({})", name, std::strerror(peer.error))
                                 : fmt::format("gets no connection from {}{}", name, why));
  }
  return fmt::format("rank {} at {} {}", rank_, text_of(own_), fmt::join(all, ", and "));
}

Unreachable Reach::unreachable(const std::string& reason) const {
  std::vector<int> ranks;
  for (const Peer& peer : peers_) {
    if (!peer.is_reached) ranks.push_back(peer.rank);
  }
  return {reason, std::move(ranks)};
}

void Reach::wait(double timeout_seconds) {
  const auto begin = Clock::now();
  bool has_warned = false;
  while (!all_reached()) {
    if (const std::string why = rendezvous_.failure ? rendezvous_.failure() : ""; !why.empty()) throw Error(why);
    begin_attempts();
    std::vector<pollfd> polled;
    if (Clock::now() >= next_accept_) polled.push_back({listener_.get(), POLLIN, 0});
    for (const Caller& caller : callers_) polled.push_back({caller.socket.get(), POLLIN, 0});
    for (const Peer& peer : peers_) {
      if (peer.socket.is_open()) polled.push_back({peer.socket.get(), POLLOUT, 0});
    }
    ::poll(polled.data(), polled.size(), 100);
    end_attempts();
    accept();
    if (all_reached()) return;
    const auto waited = Clock::now() - begin;
    if (timeout_seconds > 0 && waited > std::chrono::duration<double>(timeout_seconds)) {
      throw unreachable(
          fmt::format("{} within {:g} s: is a firewall between them? Workers connect at ports that the system chooses",
                      unreached(), timeout_seconds));
    }
    if (waited > kWarning && !std::exchange(has_warned, true)) {
      spdlog::warn("{} yet: is a firewall between them? Waiting", unreached());
    }
  }
}

}  // namespace

Descriptor reach_peers(const std::string& name, const std::vector<int>& peers, const GlooOptions& options,
                       const RendezvousStore& rendezvous) {
  Reach reach(name, peers, options, rendezvous);
  const double least = options.reach_seconds, most = options.timeout_seconds;
  reach.wait(least > 0 && (most <= 0 || least < most) ? least : most);
  return reach.take_listener();
}

}  // namespace mirrortrain
