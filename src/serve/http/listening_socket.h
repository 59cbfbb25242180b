#pragma once

#include <string>

namespace mirrortrain {

/// A TCP socket that listens at an address.
class ListeningSocket {
 public:
  /// `port` 0: any that is free. Throws Error, saying why it cannot listen there.
  ListeningSocket(const std::string& host, int port);
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  ~ListeningSocket();

  int get() const { return socket_; }
  int port() const { return port_; }
  /// Whether there are connections that were not accepted yet.
  bool has_waiting() const;

 private:
  int socket_ = -1, port_ = 0;
};

}  // namespace mirrortrain
