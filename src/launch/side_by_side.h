#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/child_command.h"
#include "launch/machine_part.h"

namespace mirrortrain::launch {

/// Commands of this program as child processes, several at a time, each on its part of this machine.
class SideBySide {
 public:
  /// As many at a time as there are parts.
  SideBySide(std::vector<MachinePart> parts, ChildOutput output);

  /// Whether a part of the machine is idle.
  bool has_room() const { return !idle_.empty(); }
  bool is_idle() const { return running_.empty(); }
  /// On an idle part; there has to be room. `words`: what follows the program's name. Returns the child's number, by
  /// which it is known here. Throws Error if it cannot be started.
  int start(const std::vector<std::string>& words);
  void signal(int number) const;

  struct Ended {
    int child = 0;
    ChildEnd end;
  };
  /// Reads what the children write, and returns those that have ended since the last call.
  std::vector<Ended> take_ended();

 private:
  struct Running {
    std::unique_ptr<ChildCommand> command;
    std::size_t part;
  };
  const std::vector<MachinePart> parts_;
  const ChildOutput output_;
  std::vector<std::size_t> idle_;  ///< parts
  std::map<int, Running> running_;
  int started_ = 0;
};

}  // namespace mirrortrain::launch
