#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace mirrortrain::parameter_server {

/// Why the run has failed, once another connection shows that it has: the control plane, notified at the same time,
/// names the failed task. Waits at most one second for it; then returns `otherwise`.
inline std::string reported_reason(const std::function<std::string()>& failure, const std::string& otherwise) {
  std::string reason = failure ? failure() : otherwise;
  for (int i = 0; i < 100 && reason.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    reason = failure();
  }
  return reason.empty() ? otherwise : reason;
}

}  // namespace mirrortrain::parameter_server
