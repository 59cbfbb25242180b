#pragma once

#include <memory>
#include <span>

#include "cluster/cluster_spec.h"
#include "rpc/security.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace mirrortrain::rpc {

/// The most calls at a time to a server of the cluster. A call in progress holds a connection, and one to a parameter
/// server a thread, so whoever may connect could make any number of them. A task has one call to the chief at a time,
/// and a few to each parameter server.
int most_calls(const ClusterSpec& cluster);

/// Serves at this task's address alone. Waits a while for its own name to have an address, and warns where strangers
/// may connect. Throws Error if it cannot listen there, or other machines cannot reach it. The services must outlive
/// it.
std::unique_ptr<grpc::Server> start_server(const ClusterSpec& cluster, const Security& security,
                                           std::span<grpc::Service* const> services);

}  // namespace mirrortrain::rpc
