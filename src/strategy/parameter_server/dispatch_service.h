#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/security.h"
#include "strategy/parameter_server/dispatcher.h"

namespace grpc {
class Service;
}

namespace mirrortrain {

/// The chief's service that workers ask for work. A worker is there as long as its call lasts; it leaves when the
/// connection breaks, when it says that it failed, or when somebody else finds that it stalls.
class DispatchService {
 public:
  DispatchService(rpc::Security security, const Dispatcher::Options& options);
  DispatchService(const DispatchService&) = delete;
  DispatchService& operator=(const DispatchService&) = delete;
  /// The server that has the service must still be there, or shut down.
  ~DispatchService();

  /// For the chief's server; lives as long as this.
  grpc::Service& service() const;
  Dispatcher& dispatcher() const;

  /// Called, on another thread, with the number of a server that a worker could not use: returns why the run cannot go
  /// on, or nothing where the trouble is the worker's. None is called after `end`.
  void set_server_check(std::function<std::string(int server)> check);

  /// The worker ("worker 1") stalls, as `why` says, and was last heard from so long ago: its steps go to others.
  void lose(const std::string& name, const std::string& why, double silent_seconds);

  /// Tells every worker that the run is done, or why it failed, and waits a few seconds for their goodbyes. Whoever
  /// joins later is sent the same. Once.
  void end(const std::string& failure);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace mirrortrain
