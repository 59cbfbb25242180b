#pragma once

#include <signal.h>

#include <vector>

#include "base/descriptor.h"

namespace mirrortrain::launch {

/// While it lives, SIGCHLD, SIGINT, SIGTERM and SIGHUP (unless ignored, as under nohup) are queued here instead of
/// having their usual effect, and writing to a closed pipe is an error rather than SIGPIPE. Must be created on the main
/// thread before any other thread is started.
class SignalQueue {
 public:
  SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue();

  /// Readable when a signal is queued.
  int descriptor() const { return queue_.get(); }
  /// The signals received since the last call, except SIGCHLD.
  std::vector<int> take();

 private:
  Descriptor queue_;
  sigset_t before_;
  void (*pipe_handler_)(int);
};

}  // namespace mirrortrain::launch
