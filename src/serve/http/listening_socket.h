#pragma once

#include <string>

#include "base/descriptor.h"

namespace mirrortrain {

/// A TCP socket that listens at an address.
class ListeningSocket {
 public:
  /// `port` 0: any that is free. Throws Error, saying why it cannot listen there.
  ListeningSocket(const std::string& host, int port);

  int get() const { return socket_.get(); }
  int port() const { return port_; }
  /// Whether there are connections that were not accepted yet.
  bool has_waiting() const;

 private:
  Descriptor socket_;
  int port_ = 0;
};

}  // namespace mirrortrain
