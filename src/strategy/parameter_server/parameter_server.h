#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rpc/security.h"
#include "strategy/gradient_options.h"
#include "strategy/parameter_server/placement.h"

namespace grpc {
class Service;
}

namespace mirrortrain {

/// A parameter server: stores its parts of the variables, sends them to workers and applies their gradients.
class ParameterServer {
 public:
  /// `index`: among the servers of the placement.
  ParameterServer(Placement placement, int index, const GradientOptions& gradients, rpc::Security security);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;
  ~ParameterServer();

  /// For this task's server; owned by this object.
  grpc::Service& service() const;

  /// Returns when the chief reports that the run is done. `failure`: polled for the reason why the run has failed
  /// elsewhere; empty while it has not. Throws Error if it has, there or according to the chief.
  void serve(const std::function<std::string()>& failure = {}) const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace mirrortrain
