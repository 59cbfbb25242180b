#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain::launch {

/// Queues whole lines for a descriptor without waiting for its reader.
class LineOutput {
 public:
  explicit LineOutput(int descriptor) : descriptor_(descriptor) {}

  void line(std::string_view prefix, std::string_view text);

  int descriptor() const { return descriptor_; }
  bool is_empty() const { return text_.empty(); }
  /// Whether so much is queued that no more should be added for now.
  bool is_full() const { return text_.size() - written_ > kEnough; }
  /// Call it when poll reports the descriptor writable.
  void write_some();
  /// Why writing has stopped (a full disk, a closed pipe), returned once; else empty.
  std::string take_error();

 private:
  static constexpr std::size_t kEnough = 1 << 20;

  int descriptor_;
  std::string text_;
  std::size_t written_ = 0;  ///< of it
  bool is_lost_ = false;
  std::string error_;
};

}  // namespace mirrortrain::launch
