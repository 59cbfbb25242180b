#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/read_yaml.h"

namespace mirrortrain::config {

/// The text cannot be a configuration: reading stops here.
struct Refused {
  Place place;
  std::string message;
};

/// Builds the tree from yaml-cpp's events, with the limits held at every step: an alias is expanded by copying what its
/// anchor stands on, and the copy counts. Throws Refused.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const Source& source, Errors& errors)
      : text_(text), source_(source), errors_(errors) {}

  Value take() { return std::move(root_); }
  Place at(const YAML::Mark& mark) const;

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { close(); }

 private:
  /// How much a value is: itself and all below it.
  struct Extent {
    std::size_t values = 0, bytes = 0, levels = 0;
  };
  struct Anchored {
    Value value;
    Extent extent;
  };
  /// A sequence or mapping that is not complete yet.
  struct Open {
    Value container;
    YAML::anchor_t anchor = 0;
    Extent extent;
    bool has_key = false;
    std::string key;
    bool key_is_plain = false;
    Place key_place;
    std::unordered_map<std::string, std::uint32_t> lines;  ///< of the keys given, to find duplicates
    std::vector<Value> merged;                             ///< what `<<` names
  };

  void check_tag(const YAML::Mark& mark, const std::string& tag) const;
  void count(const Place& place, const Extent& extent);
  void open(Value container, YAML::anchor_t anchor);
  void close();
  /// A complete value, whose extent is counted already.
  void add(Value value, YAML::anchor_t anchor, const Extent& extent);
  void set_key(const Value& value);
  void add_entry(Open& mapping, Value value);
  void add_merge(Open& mapping, Value value);
  static void merge(Open& mapping);
  std::string path(std::string_view below) const;

  std::string_view text_;
  const Source& source_;
  Errors& errors_;
  bool started_ = false;
  Value root_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  Extent total_;
  std::size_t anchored_values_ = 0;
};

}  // namespace mirrortrain::config
