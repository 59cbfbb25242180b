#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::config {

/// Where something was written: in a file, or on the command line with `--set`. Lines and columns count from 1.
struct Place {
  std::shared_ptr<const std::string> source;  ///< the file's name, or "--set key.path"; null for a default
  std::uint32_t line = 0;                     ///< 0 for `--set`
  std::uint32_t column = 0;                   ///< for `--set`: how many came before it on the command line
  std::shared_ptr<const std::string> use;  ///< what led there: "block 'a', used at b.yaml:7:9"; null where nothing did

  bool given() const { return source != nullptr; }
  bool from_set() const { return source != nullptr && line == 0; }

  /// "configs/a.yaml:14:5", "--set key.path", or "" for a default.
  std::string text() const;
};

/// Everything that is wrong in a configuration, to be reported at once. Reading adds to it; later stages (do the layers
/// fit?) add to it with the places that they kept; finally throw_if_any() is called.
class Errors {
 public:
  /// `path` is the key's, as in "model.layers[2].dense.units", or empty; `message` says what was expected, what was
  /// found and the remedy.
  void add(const Place& place, std::string path, std::string message);

  /// As add(), with a path that counts a list's items as written, before blocks and repeats are written out: it concerns
  /// none of the items that are read later.
  void add_as_written(const Place& place, std::string path, std::string message);
  /// Of what is wrong with this path another error reports already; it concerns the path too.
  void note_reported(std::string path);

  /// Something that is allowed but is hardly meant. It does not count as an error.
  void warn(const Place& place, std::string path, std::string message);
  /// One line each, in the order of the file.
  std::vector<std::string> warnings() const;

  bool empty() const { return errors_.empty(); }
  /// Whether no more are taken: nobody reads on after so many, and a hostile file can be wrong in a million places.
  bool full() const { return errors_.size() >= kMost; }
  /// Those that are reported with another included.
  std::size_t count() const { return errors_.size() + reported_.size(); }
  /// Whether an error was added at this path or below it, so that errors that follow from it are better left out.
  bool concern(std::string_view path) const;

  /// One line each, in the order of the file, then those of `--set`, then "3 errors". What is wrong at one place in
  /// every use of it is one line.
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
  static std::vector<std::string> lines_of(const std::vector<Entry>& entries);

  std::vector<Entry> errors_, warnings_;
  std::vector<std::string> reported_;  ///< paths
};

}  // namespace mirrortrain::config
