#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/place.h"

namespace mirrortrain::config {

/// Everything that is wrong in a configuration, to be reported at once. Reading adds to it; later stages (do the layers
/// fit?) add to it with the places that they kept; finally throw_if_any() is called.
class Errors {
 public:
  /// `path` is the key's, as in "model.layers[2].dense.units", or empty; `message` says what was expected, what was
  /// found and the remedy.
  void add(const Place& place, std::string path, std::string message);

  bool empty() const { return errors_.empty(); }
  /// Whether no more are taken: nobody reads on after so many, and a hostile file can be wrong in a million places.
  bool full() const { return errors_.size() >= kMost; }
  std::size_t count() const { return errors_.size(); }
  /// Whether an error was added at this path or below it, so that errors that follow from it are better left out.
  bool concern(std::string_view path) const;

  /// One line each, in the order of the file, then those of `--set`, then "3 errors".
  std::string text() const;

  /// Throws a UsageError with text().
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMost = 1000;

  struct Entry {
    Place place;
    std::string path, message;
  };
  static bool before(const Entry& a, const Entry& b);
  static std::string line_of(const Entry& error);

  std::vector<Entry> errors_;
};

}  // namespace mirrortrain::config
