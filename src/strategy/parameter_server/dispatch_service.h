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

/// The chief's service from which workers request work. A worker is present as long as its RPC lasts; it leaves when
/// the connection breaks, when it reports a failure, or when it is found to have stalled.
class DispatchService {
 public:
  DispatchService(rpc::Security security, const Dispatcher::Options& options);
  DispatchService(const DispatchService&) = delete;
  DispatchService& operator=(const DispatchService&) = delete;
  /// The server that has the service must still exist, or be shut down.
  ~DispatchService();

  /// For the chief's server; owned by this object.
  grpc::Service& service() const;
  Dispatcher& dispatcher() const;

  /// Sets the function called, on another thread, with the number of a server that a worker could not use: it returns
  /// why the run cannot continue, or nothing if only the worker is affected. Not called after `end`.
  void set_server_check(std::function<std::string(int server)> check);

  /// The worker ("worker 1") has stalled for the reason `why`, silent for `silent_seconds`: its steps go to other
  /// workers.
  void lose(const std::string& name, const std::string& why, double silent_seconds);

  /// Notifies every worker that the run is done, or why it failed, and waits a few seconds for them to leave. Workers
  /// that join later are sent the same. Call it once.
  void end(const std::string& failure);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace mirrortrain
