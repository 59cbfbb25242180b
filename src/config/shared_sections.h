#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/schema.h"

namespace mirrortrain::config {

/// Sections that several keys hold alike, such as an outline and a filling that have the same options: the reference
/// describes them once.
class SharedSections {
 public:
  /// Looks at every section below `root`.
  explicit SharedSections(const Schema& root);

  /// The heading of a section that the key at `path` holds: `path`, or for all that are the same one heading, made of
  /// the words that end all of their keys: `color` of `circle.edge_color` and `square.color`.
  const std::string& heading(const Schema& section, const std::string& path) const;

  /// "Of `circle.edge_color` and `square.color`." for the heading of a section that several keys hold; "" for others.
  std::string users(const std::string& heading) const;

 private:
  void collect(const Schema& schema, const std::string& path);
  void collect_keys(const Schema& section, const std::string& path);

  std::map<std::string, std::vector<std::string>> paths_;     ///< by what a section says, of each
  std::map<std::string, std::string> headings_;               ///< by path, of those that several keys hold
  std::map<std::string, std::vector<std::string>> users_of_;  ///< the paths, by heading
  std::set<std::string> seen_;                                ///< paths and choices that were looked at
};

/// "shape" for a choice that is "a shape" in words.
std::string heading_of_choice(const Schema& choice);

/// The path of a key of the section at `path`, which is empty for the root.
std::string path_below(const std::string& path, const std::string& key);

}  // namespace mirrortrain::config
