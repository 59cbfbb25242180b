#pragma once

#include "rpc/coordination.grpc.pb.h"
#include "rpc/hub.h"
#include "rpc/security.h"

namespace mirrortrain::rpc {

/// Connects the other tasks to the chief's hub, with a session for each.
class CoordinationService : public Coordination::Service {
 public:
  /// Both must outlive it.
  CoordinationService(Hub& hub, const Security& security) : hub_(hub), security_(security) {}

  grpc::Status Session(grpc::ServerContext* call, grpc::ServerReaderWriter<ToTask, FromTask>* stream) override;

 private:
  Hub& hub_;
  const Security& security_;
};

}  // namespace mirrortrain::rpc
