#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::config {

/// Where something was written: in a file, or on the command line with `--set`. Lines and columns count from 1.
struct Place {
  std::shared_ptr<const std::string> source;  ///< the file's name, or "--set key.path"; null for a default
  std::uint32_t line = 0;                     ///< 0 for `--set`
  std::uint32_t column = 0;                   ///< for `--set`: its index among them
  std::shared_ptr<const std::string> use;  ///< what included it: "block 'a', used at b.yaml:7:9"; null if nothing did

  bool given() const { return source != nullptr; }
  bool from_set() const { return source != nullptr && line == 0; }

  /// "configs/a.yaml:14:5", "--set key.path", or "" for a default.
  std::string text() const;
};

/// Collects all errors of a configuration, to be reported together. Reading adds errors; later stages (do the layers
/// fit?) add theirs with the places that they kept; finally throw_if_any() is called.
class Errors {
 public:
  /// `path` is the key's, as in "shapes[2].circle.radius", or empty; `message` says what was expected, what was
  /// found and the remedy.
  void add(const Place& place, std::string path, std::string message);

  /// As add(), with a path that counts a list's items as written, before blocks and repeats are expanded: it does not
  /// refer to the expanded items.
  void add_as_written(const Place& place, std::string path, std::string message);
  /// What has this path after blocks and repeats were expanded is written at another one, which is what text() and
  /// warnings() say.
  void set_written_path(std::string path, std::string written);
  /// Notes that another error already covers this path.
  void note_reported(std::string path);

  /// Warns of something allowed but probably unintended. It does not count as an error.
  void warn(const Place& place, std::string path, std::string message);
  /// One line each, in the order of the file.
  std::vector<std::string> warnings() const;

  bool empty() const { return errors_.empty(); }
  /// Whether no more errors are accepted: a hostile file can have a million.
  bool full() const { return errors_.size() >= kMost; }
  /// Including those reported together with another.
  std::size_t count() const { return errors_.size() + reported_.size(); }
  /// Whether an error was added at this path or below it, so that errors that follow from it can be omitted.
  bool concern(std::string_view path) const;

  /// One line each, in the order of the file, then those of `--set`, then "3 errors". The same error in every use of
  /// one place is one line.
  std::string text() const;

  /// Throws a UsageError with text().
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMost = 1000;

  struct Entry {
    Place place;
    std::string path, message;
    bool as_written = false;
  };
  static bool before(const Entry& a, const Entry& b);
  static bool same_but_for_use(const Entry& a, const Entry& b);
  static std::string line_of(const Entry& error, std::size_t other_uses);
  static std::vector<Entry> sorted(std::vector<Entry> entries);
  std::vector<std::string> lines_of(std::vector<Entry> entries) const;
  std::string as_written(std::string text) const;

  std::vector<Entry> errors_, warnings_;
  std::vector<std::string> reported_;                              ///< paths
  std::map<std::string, std::string, std::less<>> written_paths_;  ///< by paths that end with an item's number
};

}  // namespace mirrortrain::config
