#pragma once

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

namespace mirrortrain {

/// The connections of a server: those that are waiting for a request, since when, and those that are busy with one.
/// Thread-safe. A connection is closed by shutting its socket down, which its owner then notices.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    int socket;
    Clock::time_point since;
    bool is_waiting;
  };
  using Entry = std::list<Connection>::iterator;

  /// `most`: that there may be at once.
  explicit Connections(int most) : most_(most) {}
  int most() const { return most_; }

  /// A new one, which is waiting. If there are almost too many, the one that has waited longest is closed.
  Entry add(int socket) {
    const std::lock_guard lock(mutex_);
    const auto count = static_cast<std::ptrdiff_t>(waiting_.size() + busy_.size());
    if (count > most_ - most_ / 8 && !waiting_.empty()) close(waiting_.begin());
    return waiting_.insert(waiting_.end(), {socket, Clock::now(), true});
  }
  void set_busy(Entry entry) { move(entry, false); }
  void set_waiting(Entry entry) { move(entry, true); }
  /// Call it before the socket is closed.
  void remove(Entry entry) {
    const std::lock_guard lock(mutex_);
    list_of(*entry).erase(entry);
  }

  void close_waiting_since(Clock::time_point time) {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty() && waiting_.front().since < time) close(waiting_.begin());
  }

  /// Whether any that is waiting has sent bytes that were not received yet.
  bool have_unread() {
    const std::lock_guard lock(mutex_);
    for (const Connection& one : waiting_) {
      int bytes = 0;
      if (::ioctl(one.socket, FIONREAD, &bytes) == 0 && bytes > 0) return true;
    }
    return false;
  }

 private:
  std::list<Connection>& list_of(const Connection& one) { return one.is_waiting ? waiting_ : busy_; }
  void move(Entry entry, bool waits) {
    const std::lock_guard lock(mutex_);
    std::list<Connection>& from = list_of(*entry);
    entry->is_waiting = waits;
    entry->since = Clock::now();
    list_of(*entry).splice(list_of(*entry).end(), from, entry);
  }
  void close(Entry entry) {
    ::shutdown(entry->socket, SHUT_RDWR);
    entry->is_waiting = false;  // until its owner removes it
    busy_.splice(busy_.end(), waiting_, entry);
  }

  int most_;
  std::mutex mutex_;
  std::list<Connection> waiting_, busy_;  ///< the former from the longest waiting to the last
};

}  // namespace mirrortrain
