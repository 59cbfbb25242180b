#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::launch {

/// The lines that come through a descriptor (a pipe, a file, a terminal), taken without waiting for more.
class LineInput {
 public:
  /// Of a longer line only so much is kept, so that memory is bounded.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  /// Does not own the descriptor; of a negative one there is nothing.
  explicit LineInput(int descriptor) : descriptor_(descriptor) {}

  /// The whole lines that came since the last call, without their ends; of one of kMostBytes and more the beginning.
  std::vector<std::string> take_lines();
  /// What came behind the last line's end: once the input has ended, a last line without one.
  std::string take_unfinished();
  /// Whether nothing more comes.
  bool has_ended() const { return has_ended_; }

 private:
  void read_available();
  void keep(std::string_view part);

  int descriptor_;
  std::vector<std::string> lines_;  ///< not taken yet
  std::string text_;                ///< of the line that has not ended
  bool has_ended_ = false;
};

}  // namespace mirrortrain::launch
