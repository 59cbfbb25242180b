#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mirrortrain::keras {

/// What of a model has no equivalent, or is damaged: all of it is reported at once.
class Problems {
 public:
  /// `where`: "layer 'stem' (Conv2D)", or empty. The same one is added once.
  void add(const std::string& where, const std::string& what);
  void add_all(const Problems& others);
  bool empty() const { return lines_.empty(); }
  std::size_t count() const { return lines_.size(); }
  const std::vector<std::string>& lines() const { return lines_; }
  /// Throws UsageError with a line for each, and their number, unless there are none. `file`: the model's.
  void throw_if_any(const std::string& file) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace mirrortrain::keras
