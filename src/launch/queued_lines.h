#pragma once

#include <csignal>
#include <string>

namespace mirrortrain::launch {

/// Lines to another program through a descriptor (a pipe, a file, a terminal), written without ever waiting for it:
/// what it does not take yet is kept, so that whoever writes still sees signals. While it lives, a pipe without a
/// reader is an error rather than SIGPIPE; must be created while there is one thread.
class QueuedLines {
 public:
  /// Does not own the descriptor.
  explicit QueuedLines(int descriptor);
  QueuedLines(const QueuedLines&) = delete;
  QueuedLines& operator=(const QueuedLines&) = delete;
  ~QueuedLines();

  /// To be written by the next calls of write_available. `line`: without its end.
  void add(const std::string& line) { text_ += line + '\n'; }
  /// Writes what can be written now. Returns 0, or errno where the descriptor takes no more.
  int write_available();
  bool is_empty() const { return text_.empty(); }

 private:
  int descriptor_;
  std::string text_;  ///< not written yet
  void (*pipe_handler_)(int);
};

}  // namespace mirrortrain::launch
