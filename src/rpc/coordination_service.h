#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

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
  void warn_of_stranger(const std::string& peer);

  Hub& hub_;
  const Security& security_;
  std::mutex mutex_;
  std::int64_t unreported_ = 0;  ///< strangers that were refused since the last warning
  std::optional<std::chrono::steady_clock::time_point> warned_;
};

}  // namespace mirrortrain::rpc
