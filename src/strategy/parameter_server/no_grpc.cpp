// Stubs that throw in builds without gRPC: a chief, a worker or a server is never created.
#include <fmt/format.h>

#include "base/error.h"
#include "strategy/parameter_server/parameter_server.h"
#include "strategy/parameter_server/parameter_server_strategy.h"
#include "strategy/parameter_server/worker.h"

namespace mirrortrain {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      fmt::format("strategy.type: parameter_server needs several processes, but this executable trains in "
                  "one alone: {}",
                  MIRRORTRAIN_GRPC_ABSENT));
}

}  // namespace

class DispatchService::Body {};
DispatchService::DispatchService(rpc::Security, const Dispatcher::Options&) { refuse(); }
DispatchService::~DispatchService() = default;
grpc::Service& DispatchService::service() const { refuse(); }
Dispatcher& DispatchService::dispatcher() const { refuse(); }
void DispatchService::set_server_check(std::function<std::string(int)>) { refuse(); }
void DispatchService::lose(const std::string&, const std::string&, double) { refuse(); }
void DispatchService::end(const std::string&) { refuse(); }

class ParameterServer::Body {};
ParameterServer::ParameterServer(Placement, int, const GradientOptions&, rpc::Security) { refuse(); }
ParameterServer::~ParameterServer() = default;
grpc::Service& ParameterServer::service() const { refuse(); }
void ParameterServer::serve(const std::function<std::string()>&) const { refuse(); }

std::unique_ptr<Strategy> make_parameter_server_strategy(const Model&, ParameterServerParts, DispatchService&) {
  refuse();
}
void run_worker(const WorkerParts&) { refuse(); }

}  // namespace mirrortrain
