#include "base/error.h"
#include "serve/grpc/grpc_server.h"

namespace mirrortrain {

class GrpcServer::Impl {};

std::string why_no_grpc() { return MIRRORTRAIN_GRPC_ABSENT; }

GrpcServer::GrpcServer(const GrpcOptions&, ServedModel&, RequestMetrics&, const Tokens&) {
  throw UsageError(why_no_grpc());
}
GrpcServer::~GrpcServer() = default;
int GrpcServer::port() const { return 0; }
void GrpcServer::drain(std::chrono::seconds) {}

}  // namespace mirrortrain
