// Stubs that throw in a build without gRPC.
#include <fmt/format.h>

#include "base/error.h"
#include "rpc/control_plane.h"

namespace mirrortrain::rpc {

Security Security::from(const ClusterOptions&, const Environment&) { return {}; }

std::unique_ptr<ControlPlane> ControlPlane::join(const ClusterSpec& cluster, const Security&, const Handshake&,
                                                 const Timeouts&, std::span<grpc::Service* const>, const Generation&) {
  throw UsageError(fmt::format("{} describes a cluster, but this executable trains on one machine alone: {}",
                               cluster.source, MIRRORTRAIN_GRPC_ABSENT));
}

}  // namespace mirrortrain::rpc
