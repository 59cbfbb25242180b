#pragma once

#include <string>
#include <vector>

namespace mirrortrain::launch {

/// The lines that come through a descriptor (a pipe, a file, a terminal), taken without waiting for more.
class LineInput {
 public:
  /// Does not own the descriptor; of a negative one there is nothing.
  explicit LineInput(int descriptor) : descriptor_(descriptor) {}

  /// The whole lines that came since the last call, without their ends.
  std::vector<std::string> take_lines();
  /// What came behind the last line's end: once the input has ended, a last line without one.
  std::string take_unfinished();
  /// Whether nothing more comes.
  bool has_ended() const { return has_ended_; }

 private:
  void read_available();

  int descriptor_;
  std::string text_;  ///< not taken yet
  bool has_ended_ = false;
};

}  // namespace mirrortrain::launch
