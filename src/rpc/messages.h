#pragma once

#include <string>

#include "rpc/coordination.pb.h"

namespace mirrortrain::rpc {

// The hub's messages to a task that are made in several places.

/// The task is refused.
inline ToTask refusal_of(const std::string& reason) {
  ToTask message;
  message.set_refusal(reason);
  return message;
}

/// The run has ended, or ends, without the task.
inline ToTask is_over(const std::string& why) {
  ToTask message;
  message.set_over(why);
  return message;
}

/// The task reports its step and pauses there until the hub has decided after which step to stop.
inline ToTask stop_at(int signal) {
  ToTask message;
  message.mutable_stop()->set_signal(signal);
  return message;
}

}  // namespace mirrortrain::rpc
