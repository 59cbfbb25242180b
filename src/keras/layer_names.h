#pragma once

#include <set>
#include <string>
#include <string_view>

namespace mirrortrain::keras {

/// The names of layers, each of which is given out once.
class LayerNames {
 public:
  /// The name with characters that names here have not replaced by `_`; numbered where it is taken, or means something
  /// else.
  std::string unique(std::string_view wanted);
  bool is_taken(const std::string& name) const { return taken_.contains(name); }
  /// Takes a name that nothing else may have.
  void take(std::string name) { taken_.insert(std::move(name)); }

 private:
  std::set<std::string> taken_{"input"};
};

}  // namespace mirrortrain::keras
