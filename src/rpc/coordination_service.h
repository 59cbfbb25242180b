#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "rpc/coordination.grpc.pb.h"
#include "rpc/hub.h"
#include "rpc/security.h"

namespace mirrortrain::rpc {

/// Connects the other tasks to the chief's hub, with a session for each. A session holds no thread: gRPC's own few
/// serve all of them.
class CoordinationService : public Coordination::CallbackService {
 public:
  /// Both must outlive it. `most_sessions`: more at a time are refused.
  CoordinationService(Hub& hub, const Security& security, int most_sessions)
      : hub_(hub), security_(security), most_sessions_(most_sessions) {}
  /// After the server has been shut down: waits for the last session's end.
  ~CoordinationService() override;

  grpc::ServerBidiReactor<FromTask, ToTask>* Session(grpc::CallbackServerContext* call) override;

 private:
  class TaskSession;

  std::optional<grpc::Status> refusal_of(const grpc::CallbackServerContext& call);
  void warn_of_stranger(const std::string& peer);
  void end_session();

  Hub& hub_;
  const Security& security_;
  const int most_sessions_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int sessions_ = 0;
  std::int64_t unreported_ = 0;  ///< strangers that were refused since the last warning
  std::optional<std::chrono::steady_clock::time_point> warned_;
};

}  // namespace mirrortrain::rpc
