#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rpc/security.h"
#include "strategy/parameter_server/dispatcher.h"

namespace mirrortrain {

/// A worker's connection to the chief. For the chief, the worker is alive as long as this object is. `take` must be
/// called from one thread; the other functions are thread-safe.
class ChiefConnection {
 public:
  /// `task`: "worker 1". Throws Error if the chief does not answer.
  ChiefConnection(const std::string& address, const std::string& task, const rpc::Security& security);
  ChiefConnection(const ChiefConnection&) = delete;
  ChiefConnection& operator=(const ChiefConnection&) = delete;
  ~ChiefConnection();

  /// Waits for the next step; returns nothing once the run is done. Throws Error if the run has failed or the chief is
  /// gone.
  std::optional<DispatchedStep> take();
  void report(std::int64_t number, const StepResult& result);
  /// Reports that this worker cannot continue. `server`: a server that it cannot use.
  void report_failure(const std::string& reason, std::optional<int> server);
  /// Breaks the connection: `take` throws.
  void cancel();

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace mirrortrain
