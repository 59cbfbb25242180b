#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "rpc/security.h"
#include "strategy/parameter_server/dispatch_service.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/strategy.h"
#include "strategy/variables/state_options.h"

namespace mirrortrain {

/// Arguments of the chief's strategy.
struct ParameterServerParts {
  std::vector<VariablePolicy> policies;  ///< of the model's variables, resolved
  State state;
  Placement placement;
  std::vector<std::string> servers;  ///< their addresses
  rpc::Security security;
  double timeout_seconds = 60;  ///< without a server's answer, or without any worker; 0: no limit
};

/// parameter_server, on the chief, which computes nothing itself: the variables are on the servers; each step is given
/// to one worker, which pulls the variables, computes the gradients of the whole batch and pushes them; and the servers
/// apply them on arrival. The host's store has the values of the last call of `variables()`. When the strategy ends, or
/// by `abort`, so do workers and servers. `model` and `dispatch`, whose service is being served, must outlive it.
std::unique_ptr<Strategy> make_parameter_server_strategy(const Model& model, ParameterServerParts parts,
                                                         DispatchService& dispatch);

}  // namespace mirrortrain
