#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rpc/security.h"
#include "strategy/parameter_server/dispatcher.h"

namespace mirrortrain {

/// A worker's connection to the chief. It is alive for the chief as long as this object is. `take` is for one thread,
/// the others for any.
class ChiefConnection {
 public:
  /// `task`: "worker 1". Throws Error where the chief does not answer.
  ChiefConnection(const std::string& address, const std::string& task, const rpc::Security& security);
  ChiefConnection(const ChiefConnection&) = delete;
  ChiefConnection& operator=(const ChiefConnection&) = delete;
  ~ChiefConnection();

  /// Waits for the next step; nothing once the run is done. Throws Error where the run has failed or the chief is gone.
  std::optional<DispatchedStep> take();
  void report(std::int64_t number, const StepResult& result);
  /// This worker cannot continue. `server`: that it cannot use.
  void report_failure(const std::string& reason, std::optional<int> server);
  /// Breaks the connection: `take` throws.
  void cancel();

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace mirrortrain
